// The constants of the AQ dialect under their scopes, as applications write them [oracle-aq 3]. The numbers travel.

/** Scope DBMS_AQ: operations [oracle-aq 3.2]. */
export const DBMS_AQ = {
  // visibility
  IMMEDIATE: 1,
  ON_COMMIT: 2,
  // dequeue mode
  BROWSE: 1,
  LOCKED: 2,
  REMOVE: 3,
  REMOVE_NODATA: 4,
  // navigation
  FIRST_MESSAGE: 1,
  NEXT_TRANSACTION: 2,
  NEXT_MESSAGE: 3,
  FIRST_MESSAGE_MULTI_GROUP: 4,
  NEXT_MESSAGE_MULTI_GROUP: 5,
  // state
  READY: 0,
  WAITING: 1,
  PROCESSED: 2,
  EXPIRED: 3,
  // sequence deviation
  BEFORE: 2,
  TOP: 3,
  // wait, seconds
  FOREVER: -1,
  NO_WAIT: 0,
  // delay and expiration, seconds
  NO_DELAY: 0,
  NEVER: -1,
  // namespace
  NAMESPACE_ANONYMOUS: 0,
  NAMESPACE_AQ: 1,
  // delivery mode
  PERSISTENT: 1,
  BUFFERED: 2,
  PERSISTENT_OR_BUFFERED: 3,
  // quality of service, bits
  NTFN_QOS_RELIABLE: 1,
  NTFN_QOS_PAYLOAD: 2,
  NTFN_QOS_PURGE_ON_NTFN: 16,
  // grouping of notifications
  NTFN_GROUPING_CLASS_TIME: 1,
  NTFN_GROUPING_TYPE_SUMMARY: 1,
  NTFN_GROUPING_TYPE_LAST: 2,
  NTFN_GROUPING_FOREVER: -1,
} as const;

/** Scope DBMS_AQADM: administration [oracle-aq 3.1]. */
export const DBMS_AQADM = {
  // retention, seconds
  INFINITE: -1,
  // message grouping
  NONE: 0,
  TRANSACTIONAL: 1,
  // queue type
  NORMAL_QUEUE: 0,
  EXCEPTION_QUEUE: 1,
  NON_PERSISTENT_QUEUE: 2,
  // delivery mode of a subscriber
  PERSISTENT: 1,
  BUFFERED: 2,
  PERSISTENT_OR_BUFFERED: 3,
} as const;

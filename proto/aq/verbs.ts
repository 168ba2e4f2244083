// What AQ frames ask for and tell: numbers on the wire, never reused. PROTOCOL.md §6.3 says which members each has.

/** The verb of an AQ request: its third element. A daemon refuses one that it does not know with TPEINVAL. */
export const AQ = {
  // DBMS_AQ [oracle-aq 4].
  ENQUEUE: 1,
  DEQUEUE: 2,
  LISTEN: 3,
  REGISTER: 4,
  UNREGISTER: 5,
  POST: 6,
  BIND_AGENT: 7,
  UNBIND_AGENT: 8,
  // DBMS_AQADM: queue tables [oracle-aq 5.1].
  CREATE_QUEUE_TABLE: 32,
  ALTER_QUEUE_TABLE: 33,
  DROP_QUEUE_TABLE: 34,
  MIGRATE_QUEUE_TABLE: 35,
  PURGE_QUEUE_TABLE: 36,
  // Queues [5.2].
  CREATE_QUEUE: 40,
  CREATE_NP_QUEUE: 41,
  ALTER_QUEUE: 42,
  START_QUEUE: 43,
  STOP_QUEUE: 44,
  DROP_QUEUE: 45,
  // Subscribers [5.3].
  ADD_SUBSCRIBER: 50,
  ALTER_SUBSCRIBER: 51,
  REMOVE_SUBSCRIBER: 52,
  QUEUE_SUBSCRIBERS: 53,
  // Propagation [5.5].
  SCHEDULE_PROPAGATION: 60,
  ALTER_PROPAGATION_SCHEDULE: 61,
  ENABLE_PROPAGATION_SCHEDULE: 62,
  DISABLE_PROPAGATION_SCHEDULE: 63,
  UNSCHEDULE_PROPAGATION: 64,
  VERIFY_QUEUE_TYPES: 65,
  // Agents and privileges [5.6].
  CREATE_AQ_AGENT: 70,
  ALTER_AQ_AGENT: 71,
  DROP_AQ_AGENT: 72,
  ENABLE_DB_ACCESS: 73,
  DISABLE_DB_ACCESS: 74,
  GRANT_QUEUE_PRIVILEGE: 75,
  REVOKE_QUEUE_PRIVILEGE: 76,
  GRANT_SYSTEM_PRIVILEGE: 77,
  REVOKE_SYSTEM_PRIVILEGE: 78,
  // Everything else of chapter 5.
  OTHER: 90,
  /** A page of a listing [oracle-aq 9]: the member `view` names it. */
  VIEW: 100,
  /** Between daemons: what propagation delivers [oracle-aq 11]. */
  DELIVER: 110,
} as const;
export type AqVerb = (typeof AQ)[keyof typeof AQ];

/** Ids of pushed AQNOTICE frames that want an ACK: at least this; those of UNSOLICITED are below. */
export const AQ_NOTICE_IDS = 0x8000_0000;

/** Bytes of a string among the members of an AQ frame: a condition of 4,000 characters, a text form of a user property. */
export const AQ_STRING_BYTES = 16_384;
/** Items of one AQ frame: messages of an array operation, agents, a page of a listing. */
export const AQ_ITEMS = 65_535;

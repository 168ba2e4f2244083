// What AQ frames ask for and tell: numbers on the wire, never reused. PROTOCOL.md §6.3 says which members each has.

/** The verb of an AQ request: its third element. A daemon refuses one that it does not know with TPEINVAL. */
export const AQ = {
  // DBMS_AQ [oracle-aq 4].
  ENQUEUE: 1,
  DEQUEUE: 2,
  LISTEN: 3,
  // DBMS_AQADM: queue tables [oracle-aq 5.1].
  CREATE_QUEUE_TABLE: 32,
  DROP_QUEUE_TABLE: 34,
  // Queues [5.2].
  CREATE_QUEUE: 40,
  ALTER_QUEUE: 42,
  START_QUEUE: 43,
  STOP_QUEUE: 44,
  DROP_QUEUE: 45,
  // Subscribers [5.3].
  ADD_SUBSCRIBER: 50,
  ALTER_SUBSCRIBER: 51,
  REMOVE_SUBSCRIBER: 52,
  QUEUE_SUBSCRIBERS: 53,
} as const;
export type AqVerb = (typeof AQ)[keyof typeof AQ];

/** Bytes of a string among the members of an AQ frame: a condition of 4,000 characters, a text form of a user property. */
export const AQ_STRING_BYTES = 16_384;
/** Items of one AQ frame: messages of an array operation, agents, a page of a listing. */
export const AQ_ITEMS = 65_535;

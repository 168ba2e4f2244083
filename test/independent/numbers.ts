// The numbers of the protocol as proto/PROTOCOL.md prints them, typed in again by hand: nothing here comes from proto/codes.ts. Only what
// the independent client and its tests use.

export const OP = {
  HELLO: 1,
  GOODBYE: 2,
  ENQUEUE: 3,
  DEQUEUE: 4,
  BEGIN: 5,
  COMMIT: 6,
  ABORT: 7,
  CANCEL: 8,
  CALL: 9,
  ADVERTISE: 10,
  UNADVERTISE: 11,
  RETURN: 12,
  STAT: 13,
  PING: 14,
  BIND: 15,
  ADMIN: 16,
  SUSPEND: 24,
  RESUME: 25,
  COMMITAT: 26,
  REQUEST: 64,
  CLOSING: 65,
  ERROR: 127,
} as const;

/** The opcode of an answer is the request's and this. */
export const ANSWER = 128;

/** Section 6: how many elements a frame of the daemon has, opcode and id included. */
export const ELEMENTS: ReadonlyMap<number, number> = new Map([
  [129, 9],
  [130, 2],
  [131, 3],
  [132, 6],
  [133, 4],
  [134, 2],
  [135, 2],
  [136, 3],
  [137, 7],
  [138, 2],
  [139, 2],
  [141, 3],
  [142, 2],
  [143, 3],
  [144, 4],
  [152, 3],
  [153, 5],
  [154, 2],
  [160, 3],
  [OP.ERROR, 5],
  [OP.REQUEST, 10],
  [OP.CLOSING, 3],
  [OP.PING, 2],
]);

export const TPE = {
  ABORT: 1,
  INVAL: 4,
  LIMIT: 5,
  NOENT: 6,
  PROTO: 9,
  SVCERR: 10,
  TIME: 13,
  TRAN: 14,
  GOTSIG: 15,
  OTYPE: 18,
  RELEASE: 19,
  MATCH: 23,
  DIAGNOSTIC: 24,
} as const;

export const QME = { INVAL: -1, ABORTED: -8, BADQUEUE: -10, NOMSG: -11, INUSE: -12, SHARE: -16 } as const;

/** TPQCTL flags. */
export const Q = {
  CORRID: 0x1,
  FAILUREQ: 0x2,
  BEFOREMSGID: 0x4,
  MSGID: 0x10,
  PRIORITY: 0x20,
  WAIT: 0x80,
  REPLYQ: 0x100,
  TIME_REL: 0x400,
  DELIVERYQOS: 0x2000,
  REPLYQOS: 0x4000,
  PEEK: 0x1000,
  EXPTIME_REL: 0x10000,
  GETBYMSGID: 0x40008,
  GETBYCORRID: 0x80800,
} as const;

/** Section 6.2. */
export const VERB = {
  QCREATE: 1,
  QCHANGE: 2,
  QDESTROY: 3,
  QINFO: 4,
  QLIST: 5,
  QPURGE: 6,
  QPAUSE: 7,
  QRESUME: 8,
  QSPACEINFO: 9,
  SRVSTART: 10,
  SRVSTOP: 11,
  SRVLIST: 20,
  RELOAD: 21,
} as const;

/** Call flags. */
export const TP = { NOTRAN: 0x8, TRAN: 0x10, NOTIME: 0x20, NOCHANGE: 0x100 } as const;

export const RVAL = { FAIL: 1, SUCCESS: 2, EXIT: 0x08000000 } as const;

export const TYPE = { NONE: 0, STRING: 1, CARRAY: 2, X_OCTET: 3, JSON: 4, MBSTRING: 5, XML: 6 } as const;

/** What a service has joined is numbered by its REQUEST and this [section 7]. */
export const JOINED = 0x80000000;

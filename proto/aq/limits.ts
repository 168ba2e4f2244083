// Limits of the AQ dialect [oracle-aq 1.3]: where two widths are documented, the larger [DESIGN 9].

export const AQ_LIMIT = {
  /** Bytes of a queue's or a queue table's name. */
  NAME: 122,
  /** Bytes of an agent's, a consumer's or a schema's name. */
  AGENT_NAME: 512,
  ADDRESS: 1024,
  /** Protocols 1 to this are reserved. */
  RESERVED_PROTOCOL: 127,
  PROTOCOL_MAX: 255,
  /** Bytes. */
  CORRELATION: 128,
  EXCEPTION_QUEUE: 245,
  /** Characters. */
  CONDITION: 4000,
  COMMENT: 2000,
  SUBSCRIBERS: 1024,
  RECIPIENTS: 1024,
  RECIPIENTS_PER_ADDRESS: 32,
  /** Of one LISTEN. */
  AGENTS: 1024,
  /** Of one REGISTER or POST. */
  REGISTRATIONS: 1024,
  MAX_RETRIES: 2_147_483_647,
  /** Seconds, of delays, expirations, retention and retry delays. */
  SECONDS: 2_147_483_647,
  PRIORITY: 2_147_483_647,
  DESTINATION: 390,
  /** Bytes of a msgid. */
  MSGID: 16,
  POST_PAYLOAD: 32_767,
  CONTEXT: 2000,
  CALLBACK: 4000,
  /** Attributes of an object payload. */
  ATTRIBUTES: 900,
  /** Bytes of the JSON text of a user property. */
  USER_PROPERTY: 4000,
  /** Messages of one array operation. */
  ARRAY: 65_535,
} as const;

// What the memory measurement asks of its child, and hears.

export interface FillTask {
  readonly directory: string;
  readonly messages: number;
  readonly corrids: boolean;
}

export interface FillResult {
  /** Growth of the resident size, divided by the messages. */
  readonly residentBytes: number;
  /** Bytes of columns and indexes, divided by the messages. */
  readonly tableBytes: number;
  /** A full garbage collection with all messages queued: the median of five, in milliseconds. */
  readonly collectionMs: number;
  readonly heapBytes: number;
  readonly seconds: number;
}

// The id of a transaction, for its whole life and after: the start of the daemon that began it, and a serial number in that start. Ids grow
// in the order of tpbegin as long as the wall clock does not go back. On the wire, in records and in messages for people it is 12 bytes.

export interface TransactionId {
  /** Wall clock at the daemon's start, in milliseconds since 1970. */
  readonly start: number;
  /** Below 2^48; its high 16 bits are random, the same for one start. */
  readonly serial: number;
}

export const NO_TRANSACTION: TransactionId = { start: 0, serial: 0 };

export function sameTransaction(a: TransactionId, b: TransactionId): boolean {
  return a.start === b.start && a.serial === b.serial;
}

/** Whether `a` is `b` or was begun before it. */
export function notAfter(a: TransactionId, b: TransactionId): boolean {
  return a.start < b.start || (a.start === b.start && a.serial <= b.serial);
}

/** 24 hexadecimal digits. */
export function formatTransactionId({ start, serial }: TransactionId): string {
  return start.toString(16).padStart(12, '0') + serial.toString(16).padStart(12, '0');
}

/** null: not 24 hexadecimal digits. */
export function parseTransactionId(text: string): TransactionId | null {
  if (!/^[0-9a-f]{24}$/i.test(text)) return null;
  return { start: Number.parseInt(text.slice(0, 12), 16), serial: Number.parseInt(text.slice(12), 16) };
}

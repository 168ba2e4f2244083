// The id of a transaction, for its whole life and after: the start of the daemon that began it, and a serial number in that start. Ids grow
// in the order of tpbegin as long as the wall clock does not go back.

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

/** Its 12 bytes on the wire: the 24 digits of `formatTransactionId` as numbers. */
export function transactionBytes(id: TransactionId): Uint8Array {
  const digits = formatTransactionId(id);
  return Uint8Array.from({ length: 12 }, (_, i) => Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16));
}
export function transactionOf(bytes: Uint8Array): TransactionId {
  const number = (from: number): number =>
    bytes.subarray(from, from + 6).reduce((n, byte) => n * 256 + byte, 0);
  return { start: number(0), serial: number(6) };
}

/** 24 hexadecimal digits. */
export function formatTransactionId({ start, serial }: TransactionId): string {
  return start.toString(16).padStart(12, '0') + serial.toString(16).padStart(12, '0');
}

// How many bytes of live messages lie in which part of the log: the log's trim units (local: segments), numbered in the order in which they
// leave. It tells which unit can go and how much of the log is dead. Pure; what a unit is the log's matter.

export class LiveUnits {
  /** The unit that a record with this ref lies in. */
  unitOf: (ref: number) => number = () => 0;
  /** Bytes of records that were removed, ever. */
  diedBytes = 0;
  /** The ref that was asked for last, and its unit: the messages of a batch follow one another. */
  private lastRef = -1;
  private lastUnit = 0;
  private first = 0;
  private bytes: number[] = [];
  /** Messages, not bytes: a unit is empty when none is left. */
  private counts: number[] = [];

  add(ref: number, length: number): void {
    const at = this.at(ref);
    this.bytes[at] = (this.bytes[at] ?? 0) + length;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
  }

  remove(ref: number, length: number): void {
    const at = this.at(ref);
    this.bytes[at] = (this.bytes[at] ?? 0) - length;
    this.counts[at] = (this.counts[at] ?? 0) - 1;
    this.diedBytes += length;
  }

  /** Live messages in a unit. */
  messagesIn(unit: number): number {
    return this.counts[unit - this.first] ?? 0;
  }
  bytesIn(unit: number): number {
    return this.bytes[unit - this.first] ?? 0;
  }

  /** Units before this one have left the log. */
  forgetBefore(unit: number): void {
    const gone = unit - this.first;
    if (gone <= 0) return;
    this.bytes.splice(0, gone);
    this.counts.splice(0, gone);
    this.first = unit;
  }

  private at(ref: number): number {
    if (ref !== this.lastRef) {
      this.lastRef = ref;
      this.lastUnit = this.unitOf(ref);
    }
    const unit = this.lastUnit;
    if (this.counts.length === 0) this.first = unit;
    if (unit < this.first) {
      // A log is read from its front, so this is rare: the first live message was found behind an older one.
      const missing = this.first - unit;
      this.bytes.unshift(...new Uint8Array(missing));
      this.counts.unshift(...new Uint8Array(missing));
      this.first = unit;
    }
    return unit - this.first;
  }
}

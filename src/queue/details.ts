// Side tables of entries: times, for those that have any or whose queue sorts by them, and places, for those that TPQTOP or TPQBEFOREMSGID
// put somewhere. Most entries have neither and pay four bytes for it. Nothing here knows what the values mean.
import { BytesColumn, f64Column, NONE, RowAllocator, u32Column, u8Column } from '../base/column.ts';
import type { Links } from '../base/ordered-tree.ts';
import { CLOCK, type ClockKind, type EntryTiming } from './event.ts';
import { LABEL_BYTES_MAX } from './label.ts';
import type { EntryTable } from './tables.ts';

const BITS = { CLOCK: 1, PROVENANCE: 2 } as const;

/** Times of an entry, its place if it was put somewhere, and the links of its queue's expiry tree. */
export class DetailTable implements Links {
  readonly sortTimeMs = f64Column();
  readonly sortExpiryMs = f64Column();
  readonly expiryMs = f64Column();
  /** BITS: the clock that expiryMs is read on, and whether the entry has a row in the table of provenance. */
  private readonly bits = u8Column();
  /** Row of the place table, or 0. */
  readonly place = u32Column();
  private readonly leftLink = u32Column();
  private readonly rightLink = u32Column();
  private readonly entries: EntryTable;
  private readonly rows: RowAllocator;

  constructor(entries: EntryTable) {
    this.entries = entries;
    this.rows = new RowAllocator(this.leftLink, (row) => {
      for (const column of this.columns()) column.ensure(row);
    });
  }

  take(timing: EntryTiming | null): number {
    const row = this.rows.take();
    this.bits.set(row, 0);
    this.setTiming(row, timing);
    this.place.set(row, NONE);
    this.leftLink.set(row, NONE);
    this.rightLink.set(row, NONE);
    return row;
  }
  give(row: number): void {
    this.rows.give(row);
  }
  /** Its entry is in no tree that sorts by them. */
  setTiming(row: number, timing: EntryTiming | null): void {
    this.sortTimeMs.set(row, timing?.sortTimeMs ?? 0);
    this.sortExpiryMs.set(row, timing?.sortExpiryMs ?? Infinity);
    this.expiryMs.set(row, timing?.expiryMs ?? Infinity);
    this.bits.set(row, (this.bits.get(row) & BITS.PROVENANCE) | (timing?.expiryClock ?? CLOCK.SPACE));
  }
  clockOf(row: number): ClockKind {
    return (this.bits.get(row) & BITS.CLOCK) as ClockKind;
  }
  hasProvenance(row: number): boolean {
    return (this.bits.get(row) & BITS.PROVENANCE) !== 0;
  }
  noteProvenance(row: number): void {
    this.bits.set(row, this.bits.get(row) | BITS.PROVENANCE);
  }
  /** null: it says nothing, the entry is here for its place alone. */
  timing(row: number): EntryTiming | null {
    const isEmpty = this.sortTimeMs.get(row) === 0 && this.sortExpiryMs.get(row) === Infinity;
    if (isEmpty && this.expiryMs.get(row) === Infinity) return null;
    return {
      sortTimeMs: this.sortTimeMs.get(row),
      sortExpiryMs: this.sortExpiryMs.get(row),
      expiryMs: this.expiryMs.get(row),
      expiryClock: this.clockOf(row),
    };
  }

  // The nodes of the expiry trees are entries, not rows of this table.
  left(entry: number): number {
    return this.leftLink.get(this.entries.detail.get(entry));
  }
  right(entry: number): number {
    return this.rightLink.get(this.entries.detail.get(entry));
  }
  setLeft(entry: number, to: number): void {
    this.leftLink.set(this.entries.detail.get(entry), to);
  }
  setRight(entry: number, to: number): void {
    this.rightLink.set(this.entries.detail.get(entry), to);
  }

  get bytes(): number {
    return this.columns().reduce((sum, column) => sum + column.bytes, 0);
  }

  private columns() {
    const { sortTimeMs, sortExpiryMs, expiryMs, bits, place, leftLink, rightLink } = this;
    return [sortTimeMs, sortExpiryMs, expiryMs, bits, place, leftLink, rightLink];
  }
}

/** Where entries were put: the sort values of the message they were put before, a label among those, and the links of a tree of all of them. */
export class PlaceTable implements Links {
  /** 1: on top of its queue. */
  readonly top = u8Column();
  readonly priority = u8Column();
  readonly sortTimeMs = f64Column();
  readonly sortExpiryMs = f64Column();
  /** Packed id of the message it was put before; its own, when it was put on top. */
  readonly baseHigh = u32Column();
  readonly baseLow = u32Column();
  private readonly labelBytes = u8Column();
  private readonly labels = new BytesColumn(LABEL_BYTES_MAX);
  private readonly leftLink = u32Column();
  private readonly rightLink = u32Column();
  private readonly entries: EntryTable;
  private readonly details: DetailTable;
  private readonly rows: RowAllocator;

  constructor(entries: EntryTable, details: DetailTable) {
    this.entries = entries;
    this.details = details;
    this.rows = new RowAllocator(this.leftLink, (row) => {
      for (const column of this.columns()) column.ensure(row);
    });
  }

  take(): number {
    const row = this.rows.take();
    this.leftLink.set(row, NONE);
    this.rightLink.set(row, NONE);
    return row;
  }
  give(row: number): void {
    this.rows.give(row);
  }

  /** Rows in use. */
  get live(): number {
    return this.rows.live;
  }

  /** Less than 0 when `a` sorts before `b` by its label; a row without one (or 0, no row) after all that have one. */
  compareLabels(a: number, b: number): number {
    const lengthA = a === NONE ? 0 : this.labelBytes.get(a);
    const lengthB = b === NONE ? 0 : this.labelBytes.get(b);
    if (lengthA === 0 || lengthB === 0) return lengthB - lengthA;
    return this.labels.compare(a, b, Math.min(lengthA, lengthB)) || lengthA - lengthB;
  }

  /** null: it stands where the message itself would, after all labels. */
  label(row: number): Uint8Array | null {
    const length = this.labelBytes.get(row);
    return length === 0 ? null : this.labels.view(row).subarray(0, length);
  }
  setLabel(row: number, label: Uint8Array | null): void {
    this.labelBytes.set(row, label?.length ?? 0);
    if (label !== null) this.labels.view(row).set(label);
  }

  // The nodes of the tree are entries, not rows of this table.
  left(entry: number): number {
    return this.leftLink.get(this.rowOf(entry));
  }
  right(entry: number): number {
    return this.rightLink.get(this.rowOf(entry));
  }
  setLeft(entry: number, to: number): void {
    this.leftLink.set(this.rowOf(entry), to);
  }
  setRight(entry: number, to: number): void {
    this.rightLink.set(this.rowOf(entry), to);
  }

  get bytes(): number {
    return this.columns().reduce((sum, column) => sum + column.bytes, 0);
  }

  private rowOf(entry: number): number {
    return this.details.place.get(this.entries.detail.get(entry));
  }

  private columns() {
    const { top, priority, sortTimeMs, sortExpiryMs, baseHigh, baseLow } = this;
    const { labelBytes, labels, leftLink, rightLink } = this;
    const numbers = [top, priority, sortTimeMs, sortExpiryMs, baseHigh, baseLow, labelBytes];
    return [...numbers, labels, leftLink, rightLink];
  }
}

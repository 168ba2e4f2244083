// Batches of a log → a space. Messages, of which there are many, go from the record's bytes into the columns without an object of their own;
// any other record is decoded and applied as an event.
import { LIMIT, TPQ } from '../../proto/codes.ts';
import { apply, arrive } from '../queue/apply.ts';
import { CLOCK, type RecordPlace } from '../queue/event.ts';
import type { QueueSpace } from '../queue/space.ts';
import { LogError, type Batch } from '../wal/log-store.ts';
import { BranchRecords } from './branch-record.ts';
import { ENQUEUED as AT, readEnqueued } from './message-record.ts';
import { decodeEvent } from './record.ts';
import { asBuffer, RECORD } from './record-parts.ts';

const HIGH = 2 ** 32;
const UNKNOWN = -1;

export class Replay {
  private readonly space: QueueSpace;
  /** The space's code of a buffer type without subtype, by its number in records; -1: not asked for yet. */
  private readonly typeCodes = new Int32Array(256).fill(UNKNOWN);
  /** Of the batch that is being replayed. */
  private bytes: Buffer = Buffer.alloc(0);
  private view: DataView = new DataView(new ArrayBuffer(0));
  private ref = 0;
  private branches = new BranchRecords();

  constructor(space: QueueSpace) {
    this.space = space;
  }

  /** Throws a LogError when a record cannot be read. */
  batch({ records, ref, pos }: Batch): void {
    const [chunk] = records.bytes; // replay hands out a batch as one chunk
    if (chunk === undefined) return;
    this.bytes = asBuffer(chunk);
    this.view = new DataView(chunk.buffer, chunk.byteOffset, chunk.length);
    this.ref = ref;
    this.branches = new BranchRecords();
    for (let i = 0; i < records.count; i++) {
      const offset = records.starts[i] as number;
      const end = i + 1 < records.count ? (records.starts[i + 1] as number) : chunk.length;
      try {
        this.record(offset, end);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new LogError('Corrupt', `batch at ${pos}, record at ${offset}: ${reason}`, { cause: error });
      }
    }
  }

  private record(offset: number, end: number): void {
    const kind = this.bytes[offset];
    if (kind === RECORD.ENQUEUED && end - offset >= AT.HEAD_BYTES) return this.message(offset, end);
    const length = end - offset;
    const place: RecordPlace = { ref: this.ref, offset, length };
    apply(this.space, this.branches.take(decodeEvent(this.bytes.subarray(offset, end), place)));
  }

  /** An ENQUEUED record: a message without times. */
  private message(at: number, end: number): void {
    const { space, view, bytes } = this;
    const { arrival } = space;
    arrival.epoch = this.part(at + AT.ID);
    arrival.counter = this.part(at + AT.ID + 6);
    arrival.queue = view.getUint32(at + AT.QUEUE, true);
    arrival.retries = view.getUint32(at + AT.RETRIES, true);
    arrival.dueMs = view.getFloat64(at + AT.DUE, true);
    arrival.dueClock = CLOCK.SPACE;
    arrival.ref = this.ref;
    arrival.offset = at;
    arrival.length = end - at;
    arrival.priority = bytes[at + AT.PRIORITY] as number;
    arrival.timing = null;
    arrival.top = false;
    arrival.restated = false;
    arrival.group = 0;
    arrival.exceptionQueue = '';
    arrival.branch = this.branches.ofMessage();
    arrival.persistent = true;
    const flags = view.getUint32(at + AT.FLAGS, true);
    const corridAt = at + AT.HEAD_BYTES;
    const hasCorrid = (flags & TPQ.TPQCORRID) !== 0;
    arrival.corrid = hasCorrid ? bytes.subarray(corridAt, corridAt + LIMIT.TMCORRIDLEN) : null;
    arrival.typeCode = this.typeCode(at, end);
    arrive(space, arrival, false);
  }

  private part(at: number): number {
    return this.view.getUint16(at + 4, true) * HIGH + this.view.getUint32(at, true);
  }

  private typeCode(at: number, end: number): number {
    const type = this.bytes[at + AT.TYPE] as number;
    const known = this.typeCodes[type] as number;
    const isPlain = type !== AT.NAMED_TYPE && this.hasNoSubtype(at);
    if (isPlain && known !== UNKNOWN) return known;
    const { properties } = readEnqueued(this.bytes.subarray(at, end), { ref: 0, offset: 0, length: 0 });
    const code = this.space.typeCode(properties.type, properties.subtype);
    if (isPlain) this.typeCodes[type] = code;
    return code;
  }

  /** Of a message whose type has a number: the subtype stands behind the members that its flags name. */
  private hasNoSubtype(at: number): boolean {
    const flags = this.view.getUint32(at + AT.FLAGS, true);
    let next = at + AT.HEAD_BYTES;
    if ((flags & TPQ.TPQCORRID) !== 0) next += LIMIT.TMCORRIDLEN;
    if ((flags & TPQ.TPQREPLYQ) !== 0) next += 1 + (this.bytes[next] as number);
    if ((flags & TPQ.TPQFAILUREQ) !== 0) next += 1 + (this.bytes[next] as number);
    return this.bytes[next] === 0;
  }
}

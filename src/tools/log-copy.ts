// A log written once more into a new directory, batch by batch: what backup and restore have in common. Every frame, every record and every
// message's own CRC is checked on the way, and the new log is read back, as a start reads it, before anyone is told that it is there.
// Invariants: the copy is a prefix of the log, up to a whole batch; it has another log key, and no position of the log comes in it; anything
// wrong with the log, or a record that this program does not know, refuses the whole. It must not know where logs come from or go to.
import { randomBytes } from 'node:crypto';
import { definitionRecords } from '../engine/definitions.ts';
import { encodeEvent } from '../engine/record.ts';
import { RecordBuffer } from '../engine/record-buffer.ts';
import type { LoggedEvent } from '../queue/event.ts';
import { QueueSpace } from '../queue/space.ts';
import { FORMAT_VERSION } from '../wal/local/frame.ts';
import { nodeFileIo } from '../wal/local/file-io.ts';
import { LogBuilder } from '../wal/local/log-builder.ts';
import { readOnly } from '../wal/local/read-only-io.ts';
import { SegmentFiles } from '../wal/local/segment.ts';
import { Survey, type Gap, type SurveyedBatch, type SurveyEnd } from '../wal/local/survey.ts';
import { surveyRoot, type SurveyRoot } from '../wal/local/survey-root.ts';
import type { Batch, BatchTime, RecordGroup } from '../wal/log-store.ts';
import type { SpaceDirectory } from './directories.ts';
import { queuedMessages, queueName, recordsOf, tryApply } from './records.ts';
import { verifySpace, type ToolPorts } from './verify.ts';

/** The log cannot be copied as it is. */
export class CopyError extends Error {
  override name = 'CopyError';
}

export interface CopyOrder {
  /** The log, where it is read. */
  readonly source: SpaceDirectory;
  /** How its directory is called in what is said about it. */
  readonly shownAs: string;
  readonly into: string;
  readonly writerName: string;
  /** How many segments the copy begins behind the log's last file. */
  readonly segmentsAhead: (segmentBytes: number) => number;
  /** Bytes of a first batch that says nothing: it moves everything behind it. */
  readonly paddingBytes?: (segmentBytes: number) => number;
  /** The name of the queue space in the copy; its own when not given. One with another name is another queue space, with another id. */
  readonly rename?: string;
  /** No transaction log is to decide over prepared transactions: what the one that ran them has forgotten is not known here. */
  readonly inDoubt: boolean;
  /** Nothing is going to be appended to the copy. */
  readonly sparse: boolean;
}

/** The last batch that is in the copy, as it was in the log. */
export interface LastBatch {
  readonly pos: number;
  readonly epoch: number;
  readonly wall: number;
}

export interface Copied {
  readonly spaceId: number;
  /** Batches of the log, and of the copy. */
  readonly read: number;
  readonly written: number;
  readonly messages: number;
  /** Messages by queue, empty queues too. */
  readonly queues: Readonly<Record<string, number>>;
  readonly last: LastBatch;
  /** Where the copy begins and ends. */
  readonly begin: number;
  readonly end: number;
}

const PHASES = 2;
/** Epochs have 48 bits [src/wal/FORMAT.md, Records]. */
const POSITIONS_MAX = 2 ** 48;

export async function copyLog(order: CopyOrder, ports: ToolPorts = {}): Promise<Copied> {
  const io = ports.io ?? nodeFileIo;
  const { source, into, shownAs } = order;
  const unreadable = (file: string, code: string): never => {
    throw new CopyError(`${file.replace(source.dir, shownAs)} cannot be read: ${code}`);
  };
  const files = new SegmentFiles(
    readOnly(io, ({ file, code }) => unreadable(file, code)),
    source.dir,
  );
  let phase = 0;
  const inPhase: ToolPorts = {
    io,
    progress: (done, total) => ports.progress?.(phase * total + done, PHASES * total),
  };
  try {
    const root = await surveyRoot(files);
    const copied = await new LogCopy(order, { files, root, ports: inPhase }).run();
    phase++;
    await readBack(copied, { ...source, dir: into }, inPhase);
    return copied;
  } finally {
    files.closeAll();
  }
}

async function readBack(copied: Copied, space: SpaceDirectory, ports: ToolPorts): Promise<void> {
  const { findings, messages, batches } = await verifySpace(space, ports);
  const [first] = findings;
  if (first === undefined && messages === copied.messages && batches === copied.written) return;
  const what = `${messages} messages in ${batches} batches instead of ${copied.messages} in ${copied.written}`;
  const why = first === undefined ? what : `${first.file}: offset ${first.offset}: ${first.text}`;
  throw new CopyError(`what was written does not read back as it was written: ${why}`);
}

class LogCopy {
  private readonly order: CopyOrder;
  private readonly files: SegmentFiles;
  private readonly root: SurveyRoot;
  private readonly ports: ToolPorts;
  private readonly state: QueueSpace;
  private builder: LogBuilder | null = null;
  private isDefined = false;
  private read = 0;
  private written = 0;
  private last: LastBatch = { pos: 0, epoch: 0, wall: 0 };
  /** What the copy's takeover names. */
  private follows = { epoch: 0, batchNumber: -1 };
  private time: BatchTime = { space: 0, wall: 0 };

  constructor(order: CopyOrder, log: { files: SegmentFiles; root: SurveyRoot; ports: ToolPorts }) {
    this.order = order;
    this.files = log.files;
    this.root = log.root;
    this.ports = log.ports;
    const known = log.root.identity?.spaceId ?? 0;
    this.state = new QueueSpace(order.rename === undefined ? known : randomU32());
  }

  async run(): Promise<Copied> {
    const { root, ports, state } = this;
    const survey = new Survey(this.files, root, (bytes) => ports.progress?.(bytes, root.bytes));
    for await (const item of survey.items()) {
      if (item.kind === 'gap') this.refuseGap(item);
      else if (item.kind === 'end') this.refuseEnd(item);
      else await this.take(item, survey);
    }
    const builder = await this.ready();
    await this.renameSpace(builder);
    await builder.finish();
    return {
      spaceId: state.spaceId,
      read: this.read,
      written: this.written,
      messages: state.entries.live,
      queues: countQueues(state),
      last: this.last,
      begin: this.firstSegment() * root.segmentBytes,
      end: builder.end,
    };
  }

  private async take({ batch, number }: SurveyedBatch, survey: Survey): Promise<void> {
    this.time = batch.time;
    if (batch.kind !== 'preamble') {
      this.read++;
      this.last = { pos: batch.pos, epoch: batch.epoch, wall: batch.time.wall };
      if (this.builder === null) this.follows = { epoch: batch.epoch, batchNumber: number };
    }
    if (batch.kind === 'takeover') return;
    const records = this.check(batch, survey);
    // The first preamble says what a part of the log that has been reclaimed defined; the others repeat it.
    if (batch.kind === 'preamble' && (this.isDefined || batch.records.count === 0)) return;
    this.isDefined = true;
    this.written++;
    await (await this.ready()).append(records, batch.time, batch.kind === 'noop' ? 'noop' : 'data');
  }

  /** Applies every record; returns what the copy gets of them. */
  private check(batch: Batch, survey: Survey): RecordGroup {
    const changed: { index: number; bytes: Uint8Array }[] = [];
    for (const record of recordsOf(batch)) {
      const { index, offset, fault } = record;
      let { event } = record;
      if (event?.kind === 'branchPrepared' && this.order.inDoubt) {
        event = { ...event, tlog: this.noTlog };
        changed.push({ index, bytes: recordOf(event) });
      }
      const problem = fault?.text ?? (event === null ? null : tryApply(this.state, event));
      if (problem === null) continue;
      const { file, offset: at } = survey.place(batch.pos);
      this.refuse(`${file}: offset ${at}: byte ${offset} of the batch's records: ${problem}`);
    }
    return changed.length === 0 ? batch.records : withRecords(batch, changed);
  }

  private async ready(): Promise<LogBuilder> {
    if (this.builder !== null) return this.builder;
    const { order, root, ports } = this;
    const { segmentBytes } = root;
    const options = {
      dir: order.into,
      io: ports.io ?? nodeFileIo,
      segmentBytes,
      firstSegment: this.firstSegment(),
      spaceId: this.state.spaceId,
      randomU32,
      sparse: order.sparse,
      definitions: () => definitionRecords(this.state).group(),
    };
    this.builder = await LogBuilder.begin(options, { ...this.follows, time: this.time }, order.writerName);
    this.written++;
    const padding = order.paddingBytes?.(segmentBytes) ?? 0;
    if (padding > 0) {
      const nothing = { bytes: [Buffer.alloc(padding)], starts: new Uint32Array(0), count: 0 };
      await this.builder.append(nothing, this.time, 'noop');
      this.written++;
    }
    return this.builder;
  }

  /** An identity that no transaction log has. */
  private readonly noTlog = randomBytes(16).toString('hex');
  private first = 0;

  private firstSegment(): number {
    const { root, order } = this;
    this.first ||= root.last + order.segmentsAhead(root.segmentBytes);
    if ((this.first + root.sizes.size) * root.segmentBytes >= POSITIONS_MAX) {
      this.refuse(
        `${this.files.dir}: its positions are used up: message ids have room for ${POSITIONS_MAX} bytes of log`,
      );
    }
    return this.first;
  }

  private async renameSpace(builder: LogBuilder): Promise<void> {
    const { rename } = this.order;
    const { attributes } = this.state;
    if (rename === undefined || attributes.name === rename || attributes.name === '') return;
    const nextQueue = this.state.nextQueueNumber();
    const bytes = recordOf({ kind: 'spaceDefined', attributes: { ...attributes, name: rename }, nextQueue });
    const group = { bytes: [bytes], starts: new Uint32Array(1), count: 1 };
    await builder.append(group, this.time, 'data');
    this.written++;
  }

  private refuseGap({ regions, lostBatches }: Gap): never {
    const [region] = regions;
    const where =
      region === undefined
        ? this.files.dir
        : region.missing
          ? `${region.file}: the file is missing`
          : `${region.file}: damage at offset ${region.offset}`;
    const lost =
      lostBatches === null ? 'how many batches are lost is not known' : `batches lost: ${lostBatches}`;
    return this.refuse(`${where}; ${lost}; tmqueue wal verify says more, wal salvage saves what is left`);
  }

  private refuseEnd({ newer, whole }: SurveyEnd): void {
    if (newer !== null) {
      this.refuse(
        `${newer.file}: format version ${newer.version} at offset ${newer.offset}, this program reads ${FORMAT_VERSION}: ` +
          'use the program that wrote it',
      );
    }
    if (whole === null) this.refuse(`${this.files.dir}: not one whole batch is there`);
  }

  private refuse(text: string): never {
    throw new CopyError(text.replace(this.order.source.dir, this.order.shownAs));
  }
}

function recordOf(event: Extract<LoggedEvent, { kind: 'branchPrepared' | 'spaceDefined' }>): Uint8Array {
  const buffer = new RecordBuffer(4096);
  encodeEvent(buffer, event);
  return buffer.slice(0, buffer.length);
}

/** The records of a batch, some of them in another form. */
function withRecords(batch: Batch, changed: readonly { index: number; bytes: Uint8Array }[]): RecordGroup {
  const bytes = Array.from(recordsOf(batch), (record) => record.bytes);
  for (const one of changed) bytes[one.index] = one.bytes;
  const starts = new Uint32Array(bytes.length);
  let at = 0;
  for (const [i, record] of bytes.entries()) {
    starts[i] = at;
    at += record.length;
  }
  return { bytes: [Buffer.concat(bytes)], starts, count: bytes.length };
}

function randomU32(): number {
  return randomBytes(4).readUInt32LE(0);
}

function countQueues(space: QueueSpace): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { attributes } of space.queues()) counts[attributes.name] = 0;
  for (const { queue } of queuedMessages(space)) {
    const name = queueName(space, queue);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

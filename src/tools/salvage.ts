// `wal salvage`: what can be had of a damaged log, as a new log that a daemon opens: every whole batch on both sides of every damage, in its
// order, with the definitions that a lost part may have held. The old directory is only read.
// Invariants: a batch is kept whole or not at all; the new log's positions, and so the epochs of ids made later, lie behind all of the old
// one's; what is lost, and what may come twice, is in the report. The new log is read once more, as a start reads it, before it is given out.
import { randomBytes } from 'node:crypto';
import { definitionRecords } from '../engine/definitions.ts';
import { encodeEvent } from '../engine/record.ts';
import { RecordBuffer } from '../engine/record-buffer.ts';
import { QUEUE_DEFAULTS, type QueueAttributes } from '../queue/attributes.ts';
import { NONE } from '../base/column.ts';
import { OBJECT } from '../queue/catalog.ts';
import type { Enqueued, LoggedEvent, ObjectDefined } from '../queue/event.ts';
import type { MessageId } from '../queue/message.ts';
import { QueueSpace } from '../queue/space.ts';
import { FORMAT_VERSION } from '../wal/local/frame.ts';
import { nodeFileIo, type FileIo } from '../wal/local/file-io.ts';
import { LogBuilder } from '../wal/local/log-builder.ts';
import { readOnly } from '../wal/local/read-only-io.ts';
import { SegmentFiles } from '../wal/local/segment.ts';
import { Survey, type Gap, type SurveyedBatch, type SurveyEnd } from '../wal/local/survey.ts';
import { surveyRoot, type SurveyRoot } from '../wal/local/survey-root.ts';
import type { Batch, BatchTime, RecordGroup } from '../wal/log-store.ts';
import type { SpaceDirectory } from './directories.ts';
import { queuedMessages, queueName, recordsOf, tryApply } from './records.ts';
import { SalvageReport } from './salvage-report.ts';
import { refuseUsed } from './target.ts';
import { msgidText } from './text.ts';
import { verifySpace, type ToolPorts } from './verify.ts';

/** The log cannot be salvaged by this program, or at all. */
export class SalvageError extends Error {
  override name = 'SalvageError';
}

export const REPORT_FILE = 'SALVAGE.txt';
/** The new log begins so many segments behind the old one's last file: files that are lost may have held later positions. */
const SEGMENTS_AHEAD = 16;
const PHASES = 3;

/** Writes the new log into `into`, which must not exist or be empty. */
export async function salvageSpace(
  space: SpaceDirectory,
  into: string,
  ports: ToolPorts = {},
): Promise<SalvageReport> {
  const io = ports.io ?? nodeFileIo;
  await refuseUsed(into, io);
  const report = new SalvageReport(space, into);
  const files = new SegmentFiles(
    readOnly(io, (block) => report.unreadable(block)),
    space.dir,
  );
  let phase = 0;
  const inPhase: ToolPorts = {
    io,
    progress: (done, total) => ports.progress?.(phase * total + done, PHASES * total),
  };
  try {
    const root = await surveyRoot(files);
    const plan = await new Scout(files, root, inPhase).look();
    phase++;
    const salvage = new Salvage({ files, root, plan, io, into, report });
    await salvage.run(inPhase);
  } finally {
    files.closeAll();
  }
  phase++;
  await writeReport(report, io);
  const verdict = await verifySpace({ ...space, dir: into }, inPhase);
  if (verdict.findings.length > 0 || verdict.messages !== report.messages) {
    const why = verdict.findings[0]?.text ?? `${verdict.messages} messages instead of ${report.messages}`;
    throw new SalvageError(`${into}: the new log does not read back as it was written: ${why}`);
  }
  return report;
}

async function writeReport(report: SalvageReport, io: FileIo): Promise<void> {
  const fd = io.open(`${report.into}/${REPORT_FILE}`, 'create');
  try {
    const bytes = Buffer.from(report.text());
    for (let done = 0; done < bytes.length;) done += io.pwriteSync(fd, bytes.subarray(done), done);
    await io.fdatasync(fd);
  } finally {
    io.close(fd);
  }
  await io.fsyncDir(report.into);
}

/** What the log holds further on, known before the new one is begun. */
interface Plan {
  /** The first definition of each queue, wherever it stands. */
  readonly queues: ReadonlyMap<number, QueueAttributes>;
  /** The same of queue tables, by their names. */
  readonly tables: ReadonlyMap<string, ObjectDefined>;
  /** The last whole batch: what the new log's takeover names. */
  readonly last: { epoch: number; batchNumber: number };
}

class Scout {
  private readonly files: SegmentFiles;
  private readonly root: SurveyRoot;
  private readonly ports: ToolPorts;

  constructor(files: SegmentFiles, root: SurveyRoot, ports: ToolPorts) {
    this.files = files;
    this.root = root;
    this.ports = ports;
  }

  async look(): Promise<Plan> {
    const { root } = this;
    const queues = new Map<number, QueueAttributes>();
    const tables = new Map<string, ObjectDefined>();
    let last = { epoch: 0, batchNumber: -1 };
    const survey = new Survey(this.files, root, (bytes) => this.ports.progress?.(bytes, root.bytes));
    for await (const item of survey.items()) {
      if (item.kind === 'end') this.refuse(item);
      if (item.kind !== 'batch') continue;
      if (item.batch.kind !== 'preamble') last = { epoch: item.batch.epoch, batchNumber: item.number };
      if (item.batch.kind === 'takeover') continue;
      for (const { event } of recordsOf(item.batch)) {
        if (event?.kind === 'queueDefined' && !queues.has(event.queue))
          queues.set(event.queue, event.attributes);
        if (event?.kind === 'objectDefined' && event.value !== null && !tables.has(event.name))
          if (event.type === OBJECT.TABLE) tables.set(event.name, event);
      }
    }
    return { queues, tables, last };
  }

  private refuse({ newer, whole }: SurveyEnd): void {
    const { dir } = this.files;
    if (newer !== null) {
      throw new SalvageError(
        `${newer.file}: format version ${newer.version} at offset ${newer.offset}, this program reads ${FORMAT_VERSION}: ` +
          'use the program that wrote it',
      );
    }
    if (whole === null)
      throw new SalvageError(`${dir}: not one whole batch was found: there is nothing to salvage`);
  }
}

interface SalvageParts {
  readonly files: SegmentFiles;
  readonly root: SurveyRoot;
  readonly plan: Plan;
  readonly io: FileIo;
  readonly into: string;
  readonly report: SalvageReport;
}

class Salvage {
  private readonly parts: SalvageParts;
  private readonly state: QueueSpace;
  /** Queues that were destroyed: what names them later means nothing. */
  private readonly doomed = new Set<number>();
  private builder: LogBuilder | null = null;
  /** At the beginning and behind a gap the next preamble says what is defined. */
  private needsDefinitions = true;
  private isAfterGap = false;
  private lastRef = 0;
  private lastTime: BatchTime = { space: 0, wall: 0 };
  /** Messages from batches with a lower ref may have been removed in a lost part. */
  private lossRef = 0;

  constructor(parts: SalvageParts) {
    this.parts = parts;
    this.state = new QueueSpace(parts.root.identity?.spaceId ?? 0);
  }

  async run(ports: ToolPorts): Promise<void> {
    const { files, root, report } = this.parts;
    const survey = new Survey(files, root, (bytes) => ports.progress?.(bytes, root.bytes));
    for await (const item of survey.items()) {
      if (item.kind === 'gap') {
        this.needsDefinitions = true;
        this.isAfterGap = true;
        if (item.lostBatches !== 0) this.lossRef = this.lastRef + 1;
        report.gap(item);
        await this.noteFragments(item, survey);
      } else if (item.kind === 'batch') {
        this.lastRef = Math.max(this.lastRef, item.batch.ref);
        this.lastTime = item.batch.time;
        await this.keep(item, survey);
      } else if (item.tornTail !== null) report.tornTail(item.tornTail);
    }
    await (await this.ready()).finish();
    this.countMessages();
  }

  private async keep({ batch }: SurveyedBatch, survey: Survey): Promise<void> {
    if (batch.kind === 'takeover') return;
    if (batch.kind === 'preamble') return this.passPreamble(batch);
    const kept: Uint8Array[] = [];
    for (const { event, fault, bytes, offset } of recordsOf(batch)) {
      let problem = fault?.text ?? null;
      if (event !== null && problem === null) {
        await this.defineFor(event);
        problem = this.apply(event);
      }
      if (problem === null) kept.push(bytes);
      else {
        const id = event?.kind === 'enqueued' ? ` (message ${this.idText(event.id)})` : '';
        this.parts.report.damagedRecord(survey.place(batch.pos), { pos: batch.pos, offset }, problem + id);
      }
    }
    this.parts.report.batches++;
    await (await this.ready()).append(groupOf(kept), batch.time, kept.length === 0 ? 'noop' : 'data');
  }

  /** In a log without gaps a preamble repeats what is known. */
  private async passPreamble(batch: Batch): Promise<void> {
    const kept: Uint8Array[] = [];
    const named = new Set<number>();
    for (const { event, fault, bytes } of recordsOf(batch)) {
      if (event === null || fault !== null || this.apply(event) !== null) continue;
      kept.push(bytes);
      if (event.kind === 'queueDefined') named.add(event.queue);
    }
    if (!this.needsDefinitions || kept.length === 0) return;
    if (this.isAfterGap) kept.push(...this.doomUnnamed(named));
    this.needsDefinitions = false;
    this.isAfterGap = false;
    await (await this.ready()).append(groupOf(kept), batch.time, 'data');
  }

  /** A preamble names every queue that there is: one that it does not name was destroyed in the lost part. */
  private doomUnnamed(named: ReadonlySet<number>): Uint8Array[] {
    const lanes = this.state.queues().flatMap((queue) => [...(queue.lanes?.values() ?? [])]);
    const unnamed = [...lanes, ...this.state.queues()].filter(({ number }) => !named.has(number));
    return unnamed.map(({ number, attributes, messages }) => {
      this.parts.report.note(
        `queue ${attributes.name} was destroyed in a lost part: it goes, with ${messages} messages whose removal was lost`,
      );
      const event = { kind: 'queueDoomed', queue: number } as const;
      this.apply(event);
      return recordOf(event);
    });
  }

  /** The definition of a queue that an event names may have been lost: it stands further on, or is made up. */
  private async defineFor(event: LoggedEvent): Promise<void> {
    if (event.kind !== 'enqueued' && event.kind !== 'moved' && event.kind !== 'requeued') return;
    if (event.kind !== 'enqueued' && this.state.entryById(event.id) === NONE) return;
    const recipients = event.kind === 'enqueued' ? (event.recipients ?? []) : [];
    for (const queue of [event.queue, ...recipients.map((one) => one.queue)]) await this.defineQueue(queue);
  }

  /** The table of a queue of the AQ dialect before it, and the queue of a consumer before its lane. */
  private async defineQueue(queue: number): Promise<void> {
    if (this.state.queueByNumber(queue) !== undefined || this.doomed.has(queue)) return;
    const { plan, report } = this.parts;
    const { table = '', consumer = null } = plan.queues.get(queue)?.aq ?? {};
    const made = this.state.catalog.table(table) === undefined ? plan.tables.get(table) : undefined;
    if (made !== undefined) await this.add(made);
    if (consumer !== null) await this.defineQueue(consumer.of);
    const known = plan.queues.get(queue);
    const attributes = known ?? { ...QUEUE_DEFAULTS, name: `LOST_QUEUE_${queue}` };
    if (known === undefined)
      report.note(`the definition of queue number ${queue} is lost: its messages are on ${attributes.name}`);
    await this.add({ kind: 'queueDefined', queue, attributes });
  }

  private async add(event: Exclude<LoggedEvent, Enqueued>): Promise<void> {
    this.apply(event);
    await (await this.ready()).append(groupOf([recordOf(event)]), this.lastTime, 'data');
  }

  /** Returns what is wrong with it, if anything is. */
  private apply(event: LoggedEvent): string | null {
    if (event.kind === 'queueDoomed') this.doomed.add(event.queue);
    return tryApply(this.state, event);
  }

  private async ready(): Promise<LogBuilder> {
    if (this.builder !== null) return this.builder;
    const { root, io, into, plan } = this.parts;
    const options = {
      dir: into,
      io,
      segmentBytes: root.segmentBytes,
      firstSegment: root.last + SEGMENTS_AHEAD,
      spaceId: this.state.spaceId,
      randomU32: () => randomBytes(4).readUInt32LE(0),
      definitions: () => definitionRecords(this.state).group(),
    };
    this.builder = await LogBuilder.begin(
      options,
      { ...plan.last, time: this.lastTime },
      'tmqueue wal salvage',
    );
    return this.builder;
  }

  /** Which messages of a lost batch are known by name. */
  private async noteFragments(gap: Gap, survey: Survey): Promise<void> {
    for (const fragment of gap.fragments) {
      const { bytes, starts } = await survey.fragment(fragment);
      for (const [i, start] of starts.entries()) {
        const end = starts[i + 1] ?? bytes.length;
        if (start >= end || end > bytes.length) break;
        const records = { bytes: [bytes.subarray(start, end)], starts: new Uint32Array(1), count: 1 };
        for (const { event, fault } of recordsOf({ ...NO_BATCH, records })) {
          if (event?.kind !== 'enqueued' || (fault !== null && !fragment.whole)) continue;
          this.parts.report.lostMessage(
            this.idText(event.id),
            queueName(this.state, event.queue),
            fault === null,
          );
        }
      }
    }
  }

  private countMessages(): void {
    const { report } = this.parts;
    report.messages = this.state.entries.live;
    for (const { id, queue, place } of queuedMessages(this.state)) {
      const name = queueName(this.state, queue);
      report.kept(name);
      if (place.ref < this.lossRef) report.maybeTwice(name, this.idText(id));
    }
  }

  private idText(id: MessageId): string {
    return msgidText(this.state.spaceId, id);
  }
}

const NO_BATCH: Omit<Batch, 'records'> = {
  ref: 0,
  pos: 0,
  epoch: 0,
  time: { space: 0, wall: 0 },
  kind: 'data',
};

function groupOf(records: readonly Uint8Array[]): RecordGroup {
  const starts = new Uint32Array(records.length);
  let at = 0;
  for (const [i, record] of records.entries()) {
    starts[i] = at;
    at += record.length;
  }
  return { bytes: [Buffer.concat(records)], starts, count: records.length };
}

function recordOf(event: Exclude<LoggedEvent, Enqueued>): Uint8Array {
  const buffer = new RecordBuffer(1024);
  encodeEvent(buffer, event);
  return buffer.slice(0, buffer.length);
}

// `wal verify`: reads a log whole and says what a start would find wrong, and what only a dequeue would: the chain, every frame, every
// record, every message's own CRC, and that what is queued can be read where the state says it lies.
// Invariants: never writes; the code that opens logs judges too, and what it refuses is damage even if nothing else was found.
import { QueueSpace } from '../queue/space.ts';
import { isIntact } from '../engine/message-record.ts';
import { FORMAT_VERSION } from '../wal/local/frame.ts';
import { BodyReader } from '../wal/local/body-reader.ts';
import { nodeFileIo, type FileIo } from '../wal/local/file-io.ts';
import { PageCache } from '../wal/local/page-cache.ts';
import { readOnly, type Unreadable } from '../wal/local/read-only-io.ts';
import { inspectLog, type Inspection } from '../wal/local/recovery.ts';
import { SEGMENT_BYTES_DEFAULT, SegmentFiles, TEMPORARY_SUFFIX } from '../wal/local/segment.ts';
import { Survey, type Gap, type SurveyedBatch, type SurveyEnd } from '../wal/local/survey.ts';
import { surveyRoot } from '../wal/local/survey-root.ts';
import { LogError } from '../wal/log-store.ts';
import { CheckpointCheck } from './checkpoints.ts';
import type { SpaceDirectory } from './directories.ts';
import { queuedMessages, recordsOf, tryApply, type RecordFault } from './records.ts';
import { msgidText } from './text.ts';

export type FindingKind =
  | RecordFault
  | 'damage'
  | 'missing segment'
  | 'unreadable'
  | 'newer version'
  | 'message'
  | 'checkpoint'
  | 'useless checkpoint'
  | 'torn tail'
  | 'wrong length'
  | 'leftover';

export interface Finding {
  readonly kind: FindingKind;
  readonly file: string;
  readonly offset: number;
  readonly text: string;
}

/** What the next start mends by itself, losing nothing that was acknowledged. */
const MENDED: readonly FindingKind[] = ['torn tail', 'wrong length', 'leftover', 'useless checkpoint'];

export interface Verdict {
  readonly space: SpaceDirectory;
  readonly findings: readonly Finding[];
  readonly isDamaged: boolean;
  /** At most LISTED_MAX findings of a kind are listed; so many more there were. */
  readonly unlisted: number;
  readonly segments: number;
  readonly segmentBytes: number;
  readonly batches: number;
  readonly messages: number;
  readonly queues: number;
}

export interface ToolPorts {
  readonly io?: FileIo;
  /** Told how much of the work is done, of how much. */
  readonly progress?: (done: number, total: number) => void;
}

const LISTED_MAX = 1000;

export async function verifySpace(space: SpaceDirectory, ports: ToolPorts = {}): Promise<Verdict> {
  const verification = new Verification(space, ports);
  try {
    return await verification.run();
  } finally {
    verification.files.closeAll();
  }
}

class Verification {
  readonly files: SegmentFiles;
  private readonly space: SpaceDirectory;
  private readonly ports: ToolPorts;
  private readonly findings: Finding[] = [];
  private readonly unreadable = new Set<string>();
  private readonly counts = new Map<FindingKind, number>();
  private unlisted = 0;
  private batches = 0;
  private lastPos = 0;

  constructor(space: SpaceDirectory, ports: ToolPorts) {
    this.space = space;
    this.ports = ports;
    const io = readOnly(ports.io ?? nodeFileIo, (block) => this.noteUnreadable(block));
    this.files = new SegmentFiles(io, space.dir);
  }

  async run(): Promise<Verdict> {
    const { inspection, refusal } = await this.inspect();
    const root = await surveyRoot(this.files);
    const state = new QueueSpace(root.identity?.spaceId ?? 0);
    const checkpoints = new CheckpointCheck(this.files, root);
    if (root.identity !== null) await checkpoints.read();
    for (const { file, text } of checkpoints.useless)
      this.note('useless checkpoint', { file, offset: 0 }, text);
    // A log whose birth was cut short begins anew: its one torn batch is no damage.
    if (inspection === null || inspection.identity !== null) {
      const survey = new Survey(this.files, root, (bytes) => this.ports.progress?.(bytes, 2 * root.bytes));
      for await (const item of survey.items()) {
        if (item.kind === 'batch') this.checkBatch(item, survey, { state, checkpoints });
        else if (item.kind === 'gap') this.noteGap(item);
        else this.noteEnd(item, inspection === null);
      }
    }
    const contradiction = this.isDamaged() ? null : checkpoints.contradiction(state, this.lastPos);
    if (contradiction !== null) this.note('checkpoint', { ...contradiction, offset: 0 }, contradiction.text);
    if (inspection !== null) {
      this.noteMended(inspection);
      if (inspection.identity !== null) await this.readMessages(inspection, state);
    }
    // The end that a start refuses to cut is where it stands.
    const end = this.findings.find(({ kind }) => kind === 'torn tail') ?? { file: this.space.dir, offset: 0 };
    if (refusal !== null && !this.isDamaged()) this.note('damage', end, refusal);
    return {
      space: this.space,
      findings: this.findings.toSorted(
        (a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) || a.offset - b.offset,
      ),
      isDamaged: this.isDamaged(),
      unlisted: this.unlisted,
      segments: root.sizes.size,
      segmentBytes: root.segmentBytes,
      batches: this.batches,
      messages: state.entries.live,
      queues: state.queueCount,
    };
  }

  /** As a start would judge before it replays; null and why when it would refuse. */
  private async inspect(): Promise<{ inspection: Inspection | null; refusal: string | null }> {
    try {
      return { inspection: await inspectLog(this.files, SEGMENT_BYTES_DEFAULT), refusal: null };
    } catch (error) {
      if (!(error instanceof LogError) || error.kind !== 'Corrupt') throw error;
      return { inspection: null, refusal: error.message };
    }
  }

  private checkBatch(
    { batch }: SurveyedBatch,
    survey: Survey,
    { state, checkpoints }: { state: QueueSpace; checkpoints: CheckpointCheck },
  ): void {
    this.lastPos = Math.max(this.lastPos, batch.pos);
    if (batch.kind !== 'preamble') this.batches++;
    if (batch.kind === 'takeover') return;
    for (const { offset, event, fault } of recordsOf(batch)) {
      const where = (): string => `batch at position ${batch.pos}, byte ${offset} of its records`;
      if (fault !== null) this.note(fault.kind, survey.place(batch.pos), `${where()}: ${fault.text}`);
      if (event === null) continue;
      checkpoints.pass(batch.pos, event);
      const nonsense = tryApply(state, event);
      if (nonsense !== null) this.note('bad record', survey.place(batch.pos), `${where()}: ${nonsense}`);
    }
  }

  private noteGap({ regions, lostBatches }: Gap): void {
    const lost =
      lostBatches === null
        ? 'how many batches are lost is not known'
        : lostBatches === 1
          ? '1 batch is lost'
          : `${lostBatches} batches are lost`;
    for (const { file, offset, bytes, missing } of regions) {
      if (missing) this.note('missing segment', { file, offset: 0 }, `the file is missing: ${lost}`);
      else
        this.note(
          'damage',
          { file, offset },
          `${bytes} bytes hold no frame of the log, but it goes on behind them: ${lost}`,
        );
    }
  }

  private noteEnd({ newer, tornTail }: SurveyEnd, isRefused: boolean): void {
    if (newer !== null) {
      const text = `format version ${newer.version}, this program reads ${FORMAT_VERSION}: use the program that wrote it`;
      this.note('newer version', newer, text);
    }
    if (tornTail !== null && isRefused) this.noteTornTail(tornTail);
  }

  private noteTornTail(torn: { file: string; offset: number; bytes: number }): void {
    this.note(
      'torn tail',
      torn,
      `${torn.bytes} bytes of a batch that was never acknowledged: the next start cuts them`,
    );
  }

  private noteMended({ tornTail, resizes, leftovers, table }: Inspection): void {
    if (tornTail !== null) this.noteTornTail(tornTail);
    for (const { number, bytes } of resizes) {
      const text = `the file has ${bytes} bytes instead of ${table.segmentBytes}: the next start mends that`;
      this.note(
        'wrong length',
        { file: this.files.path(number), offset: Math.min(bytes, table.segmentBytes) },
        text,
      );
    }
    for (const name of leftovers) {
      const what = name.endsWith(TEMPORARY_SUFFIX)
        ? 'a temporary file'
        : 'a file that the log does not reach';
      this.note(
        'leftover',
        { file: `${this.space.dir}/${name}`, offset: 0 },
        `${what}: the next start removes it`,
      );
    }
  }

  /** What is queued, read as a dequeue would. */
  private async readMessages(inspection: Inspection, state: QueueSpace): Promise<void> {
    if (this.isDamaged()) return;
    const bodies = new BodyReader(this.files, inspection.table, new PageCache());
    bodies.setWritten(inspection.whole.end);
    const total = state.entries.live;
    let done = 0;
    const messages = [...queuedMessages(state)];
    messages.sort((a, b) => a.place.ref - b.place.ref || a.place.offset - b.place.offset);
    for (const { id, place } of messages) {
      const problem = await bodies.read(place.ref, place.offset, place.length).then(
        (record) => (isIntact(record) ? null : 'its record is not where the log says'),
        (error: unknown) => (error instanceof Error ? error.message : String(error)),
      );
      if (problem !== null) {
        const text = `message ${msgidText(state.spaceId, id)} is queued, but ${problem}`;
        this.note('message', bodies.place(place.ref, place.offset), text);
      }
      done++;
      if (done % 256 === 0) this.ports.progress?.(total + done, 2 * total);
    }
  }

  private noteUnreadable({ file, offset, bytes, code }: Unreadable): void {
    const key = `${file}:${offset}`;
    if (this.unreadable.has(key)) return;
    this.unreadable.add(key);
    this.note('unreadable', { file, offset }, `${bytes} bytes cannot be read: ${code}`);
  }

  private note(kind: FindingKind, { file, offset }: { file: string; offset: number }, text: string): void {
    const count = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, count);
    if (count > LISTED_MAX) this.unlisted++;
    else this.findings.push({ kind, file, offset, text });
  }

  private isDamaged(): boolean {
    return this.findings.some(({ kind }) => !MENDED.includes(kind));
  }
}

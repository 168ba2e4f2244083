// `wal stat`: what each segment of a log holds: live bytes (records of queued messages), dead bytes (all else that was written), what is
// free, and of which time. Invariants: never writes; also reads a log that a daemon is writing to.
import { QueueSpace } from '../queue/space.ts';
import { nodeFileIo } from '../wal/local/file-io.ts';
import { readOnly } from '../wal/local/read-only-io.ts';
import { SegmentFiles, segmentFileName } from '../wal/local/segment.ts';
import type { Piece } from '../wal/local/segment-table.ts';
import { Survey, type SurveyedBatch } from '../wal/local/survey.ts';
import { surveyRoot } from '../wal/local/survey-root.ts';
import type { SpaceDirectory } from './directories.ts';
import { queuedMessages, recordsOf, tryApply } from './records.ts';
import { wallText } from './text.ts';
import type { ToolPorts } from './verify.ts';

export interface SegmentStat {
  readonly segment: string;
  readonly bytes: number;
  live: number;
  dead: number;
  /** Not written to yet. */
  free: number;
  /** That begin in it. */
  batches: number;
  /** Wall time of its first and last batch, or null. */
  first: string | null;
  last: string | null;
}

export interface SpaceStat {
  readonly space: string;
  readonly dir: string;
  readonly segments: readonly SegmentStat[];
  readonly total: { bytes: number; live: number; dead: number; free: number; batches: number };
  readonly messages: number;
  /** Places where batches are missing: the figures are of what can be read. */
  readonly gaps: number;
}

export async function statSpace(space: SpaceDirectory, ports: ToolPorts = {}): Promise<SpaceStat> {
  const files = new SegmentFiles(
    readOnly(ports.io ?? nodeFileIo, () => {}),
    space.dir,
  );
  try {
    return await measure(files, space, ports);
  } finally {
    files.closeAll();
  }
}

async function measure(files: SegmentFiles, space: SpaceDirectory, ports: ToolPorts): Promise<SpaceStat> {
  const root = await surveyRoot(files);
  const survey = new Survey(files, root, (bytes) => ports.progress?.(bytes, root.bytes));
  const state = new QueueSpace(root.identity?.spaceId ?? 0);
  const figures = new Figures(root.sizes, root.segmentBytes);
  let gaps = 0;
  for await (const item of survey.items()) {
    if (item.kind === 'gap') gaps++;
    if (item.kind !== 'batch') continue;
    figures.add(item);
    if (item.batch.kind === 'takeover') continue;
    for (const { event } of recordsOf(item.batch)) if (event !== null) tryApply(state, event);
  }
  for (const { place } of queuedMessages(state)) figures.addLive(place);
  const segments = figures.finish();
  const total = { bytes: 0, live: 0, dead: 0, free: 0, batches: 0 };
  for (const one of segments) {
    total.bytes += one.bytes;
    total.live += one.live;
    total.dead += one.dead;
    total.free += one.free;
    total.batches += one.batches;
  }
  return { space: space.name, dir: space.dir, segments, total, messages: state.entries.live, gaps };
}

class Figures {
  private readonly segments = new Map<number, SegmentStat & { used: number }>();
  /** Where the records of those batches are that do not simply lie in the segment of their ref. */
  private readonly pieces = new Map<number, readonly Piece[]>();
  private readonly segmentBytes: number;

  constructor(sizes: ReadonlyMap<number, number>, segmentBytes: number) {
    this.segmentBytes = segmentBytes;
    for (const [number, bytes] of sizes) {
      const none = { live: 0, dead: 0, free: 0, batches: 0, first: null, last: null, used: 0 };
      this.segments.set(number, { segment: segmentFileName(number), bytes, ...none });
    }
  }

  add({ batch, frames, pieces }: SurveyedBatch): void {
    for (const { pos, bytes } of frames) {
      const segment = this.segmentAt(pos);
      if (segment !== undefined) segment.used = Math.max(segment.used, (pos % this.segmentBytes) + bytes);
    }
    if (batch.kind === 'preamble') return;
    const segment = this.segmentAt(batch.pos);
    if (segment === undefined) return;
    segment.batches++;
    segment.last = wallText(batch.time.wall);
    segment.first ??= segment.last;
    if (pieces.length > 1 || this.segmentAt(batch.ref) !== segment) this.pieces.set(batch.ref, pieces);
  }

  addLive({ ref, offset, length }: { ref: number; offset: number; length: number }): void {
    const pieces = this.pieces.get(ref);
    if (pieces === undefined) this.count(ref, length);
    else {
      for (const { batchOffset, payload, length: bytes } of pieces) {
        const from = Math.max(offset, batchOffset);
        const to = Math.min(offset + length, batchOffset + bytes);
        if (from < to) this.count(payload, to - from);
      }
    }
  }

  finish(): SegmentStat[] {
    return [...this.segments.values()].map(({ used, ...segment }) => ({
      ...segment,
      dead: used - segment.live,
      free: Math.max(0, segment.bytes - used),
    }));
  }

  private count(pos: number, bytes: number): void {
    const segment = this.segmentAt(pos);
    if (segment !== undefined) segment.live += bytes;
  }

  private segmentAt(pos: number): (SegmentStat & { used: number }) | undefined {
    return this.segments.get(Math.floor(pos / this.segmentBytes));
  }
}

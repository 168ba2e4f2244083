// `wal dump`: the records of a log in order, one line each; what is damaged is a line too, and the rest goes on behind it.
// Invariants: never writes; also reads a log that a daemon is writing to, whose end moves meanwhile.
import { QueueSpace } from '../queue/space.ts';
import { FORMAT_VERSION } from '../wal/local/frame.ts';
import { nodeFileIo } from '../wal/local/file-io.ts';
import { readOnly } from '../wal/local/read-only-io.ts';
import { TAKEOVER_NAME_AT } from '../wal/local/scan.ts';
import { SegmentFiles } from '../wal/local/segment.ts';
import { Survey, type Gap, type SurveyedBatch, type SurveyEnd } from '../wal/local/survey.ts';
import { surveyRoot } from '../wal/local/survey-root.ts';
import type { SpaceDirectory } from './directories.ts';
import { fieldsOf, type Fields } from './record-fields.ts';
import { kindName, recordsOf, tryApply, type LogRecord } from './records.ts';
import { wallText } from './text.ts';
import type { ToolPorts } from './verify.ts';

export interface DumpOptions {
  readonly json: boolean;
  /** Only batches at this position or behind it. */
  readonly from?: number;
  /** Only records about this queue. */
  readonly queue?: string;
  /** Only records about this message: its 32 characters. */
  readonly msgid?: string;
  readonly data: boolean;
}

export async function* dumpSpace(
  space: SpaceDirectory,
  options: DumpOptions,
  ports: ToolPorts = {},
): AsyncGenerator<string, void> {
  const io = readOnly(ports.io ?? nodeFileIo, () => {});
  const files = new SegmentFiles(io, space.dir);
  try {
    const root = await surveyRoot(files);
    const survey = new Survey(files, root, (bytes) => ports.progress?.(bytes, root.bytes));
    const state = new QueueSpace(root.identity?.spaceId ?? 0);
    for await (const item of survey.items()) {
      if (item.kind === 'batch') yield* batchLines(item, state, options);
      else if (item.kind === 'gap') yield* gapLines(item, options);
      else yield* endLines(item, options);
    }
  } finally {
    files.closeAll();
  }
}

function* batchLines(item: SurveyedBatch, state: QueueSpace, options: DumpOptions): Generator<string> {
  const { batch, number } = item;
  const isShown = batch.pos >= (options.from ?? 0);
  const isFiltered = options.queue !== undefined || options.msgid !== undefined;
  const head = {
    pos: batch.pos,
    ref: batch.ref,
    kind: batch.kind,
    wall: wallText(batch.time.wall),
    space: batch.time.space,
    epoch: batch.epoch,
    batch: number,
  };
  if (batch.kind === 'takeover' || batch.records.count === 0) {
    const fields = batch.kind === 'takeover' ? takeoverFields(batch.records.bytes[0]) : {};
    if (isShown && !isFiltered) yield line(head, null, { fields, options });
    return;
  }
  for (const record of recordsOf(batch)) {
    const { event, fault, bytes } = record;
    const fields: Fields = {
      bytes: bytes.length,
      ...(event === null
        ? { hex: Buffer.from(bytes.subarray(0, 64)).toString('hex') }
        : fieldsOf({ event, bytes }, state, options)),
      ...(fault === null ? {} : { fault: fault.text }),
    };
    if (isShown && fits(fields, options)) yield line(head, record, { fields, options });
    if (event !== null) tryApply(state, event);
  }
}

function fits(fields: Fields, { queue, msgid }: DumpOptions): boolean {
  if (queue !== undefined && fields['queue'] !== queue && fields['from'] !== queue) return false;
  return msgid === undefined || fields['id'] === msgid || fields['newId'] === msgid;
}

function takeoverFields(record: Uint8Array | undefined): Fields {
  if (record === undefined || record.length < TAKEOVER_NAME_AT) return {};
  const view = new DataView(record.buffer, record.byteOffset, record.length);
  return {
    writer: new TextDecoder().decode(record.subarray(TAKEOVER_NAME_AT)),
    followsEpoch: view.getFloat64(0, true),
    followsBatch: view.getFloat64(8, true),
  };
}

interface Head {
  readonly pos: number;
  readonly ref: number;
  readonly kind: string;
  readonly wall: string;
  readonly space: number;
  readonly epoch: number;
  readonly batch: number;
}

function line(
  head: Head,
  record: LogRecord | null,
  { fields, options }: { fields: Fields; options: DumpOptions },
): string {
  const kind = record === null ? null : kindName(record.bytes);
  if (options.json) {
    const at = record === null ? {} : { record: kind, index: record.index, offset: record.offset };
    return JSON.stringify({ ...head, ...at, ...fields });
  }
  const { pos, ref, kind: batchKind, wall, space } = head;
  const pairs = Object.entries(fields).map(([name, value]) => `${name}=${valueText(value)}`);
  return [pos, ref, batchKind, wall, Number(space.toFixed(3)), kind ?? '-', ...pairs].join(' ');
}

function valueText(value: Fields[string]): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  return /^[^\s"\\=]+$/.test(value) ? value : JSON.stringify(value);
}

function* gapLines({ regions, lostBatches }: Gap, { json }: DumpOptions): Generator<string> {
  for (const { file, offset, bytes, missing } of regions) {
    if (json)
      yield JSON.stringify({
        damage: missing ? 'missing segment' : 'damage',
        file,
        offset,
        bytes,
        lostBatches,
      });
    else {
      const what = missing ? 'missing segment' : `damage at offset ${offset}, ${bytes} bytes`;
      yield `# ${file}: ${what}; batches lost: ${lostBatches ?? 'not known'}`;
    }
  }
}

function* endLines({ newer, tornTail }: SurveyEnd, { json }: DumpOptions): Generator<string> {
  if (tornTail !== null) {
    const { file, offset, bytes } = tornTail;
    if (json) yield JSON.stringify({ damage: 'torn tail', file, offset, bytes });
    else yield `# ${file}: torn tail at offset ${offset}, ${bytes} bytes`;
  }
  if (newer === null) return;
  const { file, offset, version } = newer;
  if (json) yield JSON.stringify({ damage: 'newer version', file, offset, version, reads: FORMAT_VERSION });
  else yield `# ${file}: format version ${version} at offset ${offset}, this program reads ${FORMAT_VERSION}`;
}

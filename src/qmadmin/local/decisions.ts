// What the transaction logs of a device say was committed, read without changing anything: for whoever would end a prepared transaction while the
// daemon is stopped. A log that is damaged, or lies on another device, says nothing. The device's lock is held meanwhile.
import { join } from 'node:path';
import { decodeTlogEvent } from '../../engine/tlog-record.ts';
import { asBuffer } from '../../engine/record-parts.ts';
import type { FileIo } from '../../wal/local/file-io.ts';
import { readOnly } from '../../wal/local/read-only-io.ts';
import { SegmentFiles, TLOG_PREFIX } from '../../wal/local/segment.ts';
import { Survey } from '../../wal/local/survey.ts';
import { surveyRoot } from '../../wal/local/survey-root.ts';
import { Decisions } from '../../xa/decisions.ts';

export async function readDecisions(io: FileIo, device: string): Promise<Decisions[]> {
  const names = (await io.readdir(device)).filter((name) => name.startsWith(TLOG_PREFIX));
  const read = await Promise.all(names.map((name) => readLog(io, join(device, name))));
  return read.filter((decisions) => decisions !== null);
}

/** null: it cannot be read whole. */
async function readLog(io: FileIo, dir: string): Promise<Decisions | null> {
  const decisions = new Decisions();
  let isWhole = true;
  const files = new SegmentFiles(
    readOnly(io, () => (isWhole = false)),
    dir,
  );
  try {
    for await (const item of new Survey(files, await surveyRoot(files)).items()) {
      if (item.kind === 'gap') return null;
      if (item.kind !== 'batch' || item.batch.kind === 'takeover') continue;
      const { bytes, starts, count } = item.batch.records;
      const chunk = bytes[0] ?? new Uint8Array(0);
      for (let i = 0; i < count; i++) {
        const end = i + 1 < count ? starts[i + 1] : chunk.length;
        decisions.apply(decodeTlogEvent(asBuffer(chunk.subarray(starts[i], end))));
      }
    }
  } catch {
    return null;
  } finally {
    files.closeAll();
  }
  return isWhole ? decisions : null;
}

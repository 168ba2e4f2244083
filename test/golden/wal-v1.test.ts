// A log of format version 1 as it was first released: every later program reads it. wal-v1.json is never made again.

import { readFileSync } from 'node:fs';
import { inflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { openLocalLog } from '../../src/wal/local/local-log.ts';
import { FaultyFileIo, MemoryDisk } from '../fault/faulty-file-io.ts';
import { ManualClock } from '../support/manual-clock.ts';

interface Golden {
  readonly format: number;
  readonly segmentBytes: number;
  readonly spaceId: number;
  /** Whole files, deflated, in base64. */
  readonly files: Readonly<Record<string, string>>;
  readonly batches: readonly GoldenBatch[];
}

interface GoldenBatch {
  readonly kind: string;
  readonly ref: number;
  readonly pos: number;
  readonly epoch: number;
  readonly space: number;
  readonly wall: number;
  readonly starts: readonly number[];
  /** The records' bytes: a text and how often it comes. */
  readonly bytes: readonly (readonly [string, number])[];
}

const DIR = '/golden';

function load(): Golden {
  // The file is ours, and its shape is checked by what is done with it.
  const golden: Golden = JSON.parse(readFileSync(`${import.meta.dirname}/wal-v1.json`, 'utf8'));
  return golden;
}

function textOf(bytes: GoldenBatch['bytes']): string {
  return bytes.map(([text, times]) => text.repeat(times)).join('');
}

test('the log of format version 1 is read batch by batch, and goes on', async () => {
  const golden = load();
  const disk = new MemoryDisk();
  for (const [name, base64] of Object.entries(golden.files)) {
    disk.replace(`${DIR}/${name}`, inflateRawSync(Buffer.from(base64, 'base64')));
  }
  const clock = new ManualClock();
  const ulog = { info: (): void => {}, warn: (): void => {}, error: (): void => {} };
  const log = await openLocalLog({ dir: DIR, clock, ulog, io: new FaultyFileIo(disk) });
  const writer = await log.takeover('golden', new AbortController().signal);
  expect(writer.spaceId).toBe(golden.spaceId);
  expect(writer.tornTail).toBeNull();
  const seen: object[] = [];
  for await (const { kind, ref, pos, epoch, time, records } of writer.replay(0)) {
    const starts = [...records.starts.subarray(0, records.count)];
    const bytes = Buffer.concat(records.bytes).toString('latin1');
    seen.push({ kind, ref, pos, epoch, space: time.space, wall: time.wall, starts, bytes });
  }
  expect(seen.slice(0, -1)).toEqual(
    golden.batches.map((batch) => ({ ...batch, bytes: textOf(batch.bytes) })),
  );
  expect(seen.at(-1)).toMatchObject({ kind: 'takeover', pos: writer.epoch });
  for (const batch of golden.batches.filter(({ kind }) => kind === 'data')) {
    const text = textOf(batch.bytes);
    expect(Buffer.from(await writer.read(batch.ref, 0, text.length)).toString('latin1')).toBe(text);
  }
  await writer.append(
    { bytes: [Buffer.from('on')], starts: new Uint32Array(1), count: 1 },
    { space: 9, wall: 9 },
  ).durable;
  expect(log.stat().bytes % golden.segmentBytes).toBe(0);
  await log.close();
});

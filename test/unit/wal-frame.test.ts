// Frame headers, and where the frames of a batch go.

import { describe, expect, test } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import type { RecordGroup } from '../../src/wal/log-store.ts';
import {
  FrameHeader,
  HEADER_BYTES,
  claimedVersion,
  decodeHeader,
  encodeHeader,
  frameBytes,
} from '../../src/wal/local/frame.ts';
import { layoutBatch } from '../../src/wal/local/layout.ts';
import type { FramePlan } from '../../src/wal/local/layout.ts';
import {
  segmentBitsOf,
  segmentFileName,
  segmentNumber,
  spaceDirectoryName,
  spaceOfDirectory,
} from '../../src/wal/local/segment.ts';

function sample(): FrameHeader {
  return Object.assign(new FrameHeader(), {
    pos: Number.MAX_SAFE_INTEGER - 7,
    keyLow: 0xffff_fffe,
    keyHigh: 1,
    nonceLow: 0x8000_0000,
    nonceHigh: 0xdead_beef,
    epoch: 2 ** 52 + 8,
    batchNumber: 2 ** 53 - 1,
    previousPos: 0,
    ref: 65_536,
    spaceTime: 1_700_000_000_000,
    wallTime: -1,
    spaceId: 0xffff_ffff,
    recordCount: 3,
    payloadBytes: 0xffff_ffff,
    batchOffset: 0xffff_fff0,
    segmentBits: 26,
    kind: 'noop',
    flags: 15,
  });
}

describe('frame header', () => {
  test('comes back exactly', () => {
    const view = new DataView(new ArrayBuffer(HEADER_BYTES + 8));
    const header = sample();
    const back = new FrameHeader();
    for (const kind of ['data', 'noop', 'takeover', 'preamble'] as const) {
      header.kind = kind;
      encodeHeader(view, 8, header);
      expect(decodeHeader(view, 8, back)).toBe(true);
      expect(back).toEqual(header);
    }
  });

  test.each([
    ['magic', 4, 0],
    ['version', 7, 2],
    ['header length', 96, 112],
    ['kind', 99, 9],
    ['flags', 100, 16],
    ['segment size', 98, 7],
  ])('a wrong %s is no header', (_what, at, byte) => {
    const view = new DataView(new ArrayBuffer(HEADER_BYTES));
    encodeHeader(view, 0, sample());
    view.setUint8(at, byte);
    expect(decodeHeader(view, 0, new FrameHeader())).toBe(false);
  });

  test('the version of a frame in its place is known whatever comes behind it', () => {
    const view = new DataView(new ArrayBuffer(HEADER_BYTES));
    encodeHeader(view, 0, sample());
    for (let at = 24; at < HEADER_BYTES; at++) view.setUint8(at, 0xaa);
    view.setUint8(7, 9);
    expect(claimedVersion(view, 0, sample().pos)).toBe(9);
    expect(claimedVersion(view, 0, sample().pos - 8)).toBe(0);
  });
});

const SEGMENT = 65_536;
const PREAMBLE = 208;

function groupOf(records: readonly number[]): RecordGroup {
  const starts = new Uint32Array(Math.max(1, records.length));
  let total = 0;
  for (const [i, bytes] of records.entries()) {
    starts[i] = total;
    total += bytes;
  }
  return { bytes: [new Uint8Array(total)], starts, count: records.length };
}

function plan(end: number, records: readonly number[]): FramePlan[] {
  const group = groupOf(records);
  const total = records.reduce((sum, bytes) => sum + bytes, 0);
  const plans = layoutBatch({ end, segmentBytes: SEGMENT, total, group, preambleFrameBytes: () => PREAMBLE });
  checkPlans(plans, { end, group, total });
  return plans;
}

/** What holds for every layout. */
function checkPlans(
  plans: readonly FramePlan[],
  batch: { end: number; group: RecordGroup; total: number },
): void {
  let { end } = batch;
  let payload = 0;
  let record = 0;
  const bodies = plans.filter((one) => !one.preamble);
  for (const one of plans) {
    expect(one.pos).toBeGreaterThanOrEqual(end);
    expect(one.pos % 8).toBe(0);
    expect((one.pos % SEGMENT) + one.bytes).toBeLessThanOrEqual(SEGMENT);
    expect(one.preamble).toBe(one.pos % SEGMENT === 0);
    end = one.pos + one.bytes;
    if (one.preamble) continue;
    expect(one.bytes).toBe(frameBytes(one.recordCount, one.to - one.from));
    expect(one.from).toBe(payload);
    expect(one.firstRecord).toBe(record);
    const starts = batch.group.starts.subarray(record, record + one.recordCount);
    // The last frame also has the records without bytes at the batch's end.
    expect(starts.every((start) => start >= one.from && (start < one.to || !one.continued))).toBe(true);
    payload = one.to;
    record += one.recordCount;
    expect(one.continued).toBe(one !== bodies.at(-1));
    expect(one.resumes).toBe(one !== bodies[0]);
  }
  expect(payload).toBe(batch.total);
  expect(record).toBe(batch.group.count);
}

describe('layout', () => {
  test('what fits into the rest is one frame there', () => {
    expect(plan(SEGMENT + 1000, [100])).toMatchObject([{ pos: SEGMENT + 1000, continued: false }]);
    const rest = SEGMENT - 1000 - HEADER_BYTES - 4;
    expect(plan(SEGMENT + 1000, [rest])).toHaveLength(1);
    expect(plan(SEGMENT + 1000, [rest + 1])).toMatchObject([
      { pos: 2 * SEGMENT, preamble: true },
      { pos: 2 * SEGMENT + PREAMBLE },
    ]);
  });

  test('what fits an empty segment goes there whole, what does not is cut', () => {
    const most = SEGMENT - PREAMBLE - HEADER_BYTES - 4;
    expect(plan(SEGMENT + 1000, [most])).toHaveLength(2);
    const cut = plan(SEGMENT + 1000, [most + 1]);
    expect(cut.map((one) => [one.preamble, one.continued])).toEqual([
      [false, true],
      [true, false],
      [false, false],
    ]);
    expect(cut[0]?.pos).toBe(SEGMENT + 1000);
  });

  test('a log’s first batch, and one behind a full segment, open a segment', () => {
    expect(plan(SEGMENT, [10])).toMatchObject([
      { pos: SEGMENT, preamble: true },
      { pos: SEGMENT + PREAMBLE },
    ]);
    expect(plan(2 * SEGMENT - 16, [200_000])[0]).toMatchObject({
      pos: 2 * SEGMENT,
      preamble: true,
      resumes: false,
    });
  });

  test('many small records, and records without bytes', () => {
    plan(
      SEGMENT + 60_000,
      Array.from({ length: 100_000 }, () => 1),
    );
    plan(SEGMENT + 60_000, [...Array.from({ length: 30_000 }, (_, i) => i % 7), 0, 0]);
    plan(SEGMENT + 8, [0, 0, 150_000, 0, 0]);
  });

  test('random batches', () => {
    const prng = new Prng(11);
    for (let i = 0; i < 2000; i++) {
      const records = Array.from({ length: prng.between(1, 40) }, () =>
        prng.below(prng.oneIn(5) ? 40_000 : 300),
      );
      plan(SEGMENT + 8 * prng.below(SEGMENT / 8), records);
    }
  });
});

describe('names', () => {
  test.each([
    ['QSPACE', 'QSPACE'],
    ['a.b/c', 'a%2Eb%2Fc'],
    ['..', '%2E%2E'],
    ['.', '%2E'],
    ['ä%', '%C3%A4%25'],
    ['a_b-9', 'a_b-9'],
    ['\0\n', '%00%0A'],
    ['LOCK', '%4COCK'],
  ])('space %j lives in %s', (space, dir) => {
    expect(spaceDirectoryName(space)).toBe(dir);
    expect(spaceOfDirectory(dir)).toBe(space);
  });

  test.each(['', '.', '..', 'LOCK', 'a.b', '%', '%zz', '%41', '%e4', '%c3%a4', 'device-list.json', 'S.new'])(
    'no space lives in %j',
    (dir) => {
      expect(spaceOfDirectory(dir)).toBeNull();
    },
  );

  test('segment files', () => {
    for (const number of [1, 15, 255, 2 ** 37]) expect(segmentNumber(segmentFileName(number))).toBe(number);
    for (const name of ['LOCK', '1.log', '000000000001.log.tmp', '00000000000g.log', ''])
      expect(segmentNumber(name)).toBe(0);
    expect(segmentBitsOf(65_536)).toBe(16);
    for (const bytes of [65_535, 32_768, 2 ** 31, 100_000]) expect(() => segmentBitsOf(bytes)).toThrow();
  });
});

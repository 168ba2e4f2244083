// A checkpoint that this program cannot read is of no use, and says why: the start goes on without it.
import { expect, test } from 'vitest';
import { jsonSection, SECTION, section } from '../../src/engine/checkpoint-format.ts';
import { BLOCK_ROWS, RowWriter } from '../../src/engine/checkpoint-rows.ts';
import { restore } from '../../src/engine/restore.ts';
import { apply } from '../../src/queue/apply.ts';
import { QueueSpace } from '../../src/queue/space.ts';
import { properties, queueAttributes } from '../support/queue-values.ts';

const HEAD = { format: 3, time: { space: 1, wall: 1 }, rows: 3 };

/** A block of three messages. */
function block(): Buffer {
  const space = spaceWithQueue();
  for (let counter = 1; counter <= 3; counter++) {
    apply(space, {
      kind: 'enqueued',
      id: { epoch: 7, counter },
      queue: 1,
      persistent: true,
      restated: false,
      branch: 0,
      retries: 0,
      dueMs: 0,
      dueClock: 0,
      timing: null,
      top: false,
      properties: properties({}),
      place: { ref: 5, offset: 100 * counter, length: 100 },
    });
  }
  const rows = new RowWriter(space).write(1, 3);
  if (rows === null) throw new Error('no rows');
  return rows;
}

function changed(bytes: Buffer, change: (bytes: Buffer) => void): Buffer {
  change(bytes);
  return bytes;
}

function spaceWithQueue(): QueueSpace {
  const space = new QueueSpace(1);
  space.define(1, queueAttributes('Q'));
  return space;
}

async function attempt(
  sections: readonly Buffer[],
): Promise<{ warnings: string[]; rows: number; to: number }> {
  const warnings: string[] = [];
  const info = { id: 'one', from: 8, to: 16, bytes: 1000 };
  async function* read(): AsyncGenerator<Uint8Array> {
    for (const one of sections) yield await Promise.resolve(one);
  }
  const store = { stat: () => ({ first: 0 }), snapshots: { list: () => Promise.resolve([info]), read } };
  const ulog = { info: () => {}, warn: (text: string) => void warnings.push(text), error: () => {} };
  const { space, to } = await restore(store, spaceWithQueue, { ulog, signal: new AbortController().signal });
  return { warnings, rows: space.messages.live, to };
}

const whole = (rows: Buffer, head: object = HEAD): Buffer[] => [
  jsonSection(SECTION.HEAD, head),
  section(SECTION.ROWS, rows),
  jsonSection(SECTION.END, { rows: 3 }),
];

test('a whole one is restored', async () => {
  expect(await attempt(whole(block()))).toEqual({ warnings: [], rows: 3, to: 16 });
});

test.each([
  [
    'an older format',
    whole(block(), { ...HEAD, format: 1 }),
    /it has format 1, this program reads 2, 3 and 4/,
  ],
  [
    'a newer format',
    whole(block(), { ...HEAD, format: 5 }),
    /it has format 5, this program reads 2, 3 and 4/,
  ],
  [
    'a section of a newer one',
    [...whole(block()), section(99, Buffer.alloc(1))],
    /section 99 is of a newer release/,
  ],
  ['rows of format 1', [section(4, Buffer.alloc(9)), ...whole(block())], /section 4 is of/],
  [
    'too many rows in a block',
    whole(changed(block(), (b) => b.writeUInt32LE(BLOCK_ROWS + 1, 0))),
    /a block of 4097 rows/,
  ],
  [
    'a form of column that is none',
    whole(changed(block(), (b) => b.writeUInt8(9, 4))),
    /a column of the form 9/,
  ],
  ['a block that ends early', whole(block().subarray(0, -1)), /a block of rows ends early/],
  [
    'bytes behind the rows',
    whole(Buffer.concat([block(), Buffer.alloc(3)])),
    /3 bytes behind the rows of a block/,
  ],
  ['a row too few', whole(block()).with(2, jsonSection(SECTION.END, { rows: 4 })), /not whole: 3 rows of 4/],
])('%s', async (_, sections, reason) => {
  const { warnings, rows, to } = await attempt(sections);
  expect({ rows, to }).toEqual({ rows: 0, to: 0 });
  expect(warnings).toEqual([
    expect.stringMatching(/checkpoint one is of no use: .*; the start goes on without it/),
  ]);
  expect(warnings[0]).toMatch(reason);
});

// The checker of `npm run bench -- --strace` on doctored traces: it must find every order of calls in which an answer precedes its sync.
import { describe, expect, test } from 'vitest';
import { OP } from '../../proto/codes.ts';
import { encodeReply } from '../../proto/reply.ts';
import { FrameWriter } from '../../proto/writer.ts';
import { CallReader } from '../bench/trace/calls.ts';
import { AnswerCheck } from '../bench/trace/check.ts';
import { stampedBody, writeStamp } from '../bench/load/stamp.ts';

const LOG = '5</data/log/000001.seg>';
const SOCKET = '7<socket:[4711]>';

/** Bytes as strace prints them. */
function quoted(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) {
    if (byte === 0x22 || byte === 0x5c) text += `\\${String.fromCharCode(byte)}`;
    else if (byte >= 0x20 && byte < 0x7f) text += String.fromCharCode(byte);
    else text += `\\${byte.toString(8).padStart(3, '0')}`;
  }
  return `"${text}"`;
}

function record(number: number): Buffer {
  const body = stampedBody(64);
  writeStamp(body, number, 0);
  return body;
}

function enqueued(...ids: number[]): Buffer {
  const writer = new FrameWriter();
  for (const id of ids) encodeReply(writer, { op: OP.ENQUEUE, id, msgid: null });
  return Buffer.concat(writer.take());
}

function dequeued(id: number): Buffer {
  const writer = new FrameWriter();
  const none = { msgid: null, corrid: null, replyqueue: '', failurequeue: '', deliveryQos: 0, replyQos: 0 };
  const ctl = { ...none, flags: 0, priority: 0, cltid: new Uint8Array(16), urcode: 0, appkey: 0 };
  encodeReply(writer, { op: OP.DEQUEUE, id, ctl, body: { type: 'CARRAY', subtype: '', data: record(id) } });
  return Buffer.concat(writer.take());
}

const write = (bytes: Uint8Array, to = LOG) =>
  `write(${to}, ${quoted(bytes)}, ${bytes.length}) = ${bytes.length}`;
const pwrite = (bytes: Uint8Array) =>
  `pwrite64(${LOG}, ${quoted(bytes)}, ${bytes.length}, 4096) = ${bytes.length}`;
const answer = (...ids: number[]) => write(enqueued(...ids), SOCKET);
const taken = (id: number) => write(dequeued(id), SOCKET);
const sync = `fdatasync(${LOG}) = 0`;
const syncBegins = `fdatasync(${LOG} <unfinished ...>`;
const syncEnds = '<... fdatasync resumed>) = 0';

/** Lines of one thread, or of the thread named in front of a line. */
function check(...lines: string[]): AnswerCheck {
  const found = new AnswerCheck('/data');
  const reader = new CallReader(found);
  let at = 0;
  for (const line of lines) {
    const [, thread = '100', call = line] = /^@(\d+) (.*)$/s.exec(line) ?? [];
    reader.push(`${thread}  ${1_700_000_000 + at++}.000001 ${call}`);
  }
  return found;
}

describe('an answer to an enqueue', () => {
  test('after write and sync is right', () => {
    const found = check(pwrite(record(1)), sync, answer(1));
    expect(found).toMatchObject({ syncs: 1, enqueues: 1, violations: [] });
  });

  test.each([
    ['before the write', [answer(1), pwrite(record(1)), sync]],
    ['between write and sync', [pwrite(record(1)), answer(1), sync]],
    ['without a sync', [pwrite(record(1)), answer(1)]],
    ['without a write', [sync, answer(1)]],
    ['after the sync of something else', [pwrite(record(2)), sync, pwrite(record(1)), answer(2, 1)]],
    ['after the sync of another file', [pwrite(record(1)), 'fdatasync(9</data/other>) = 0', answer(1)]],
    ['after a sync outside the log', [pwrite(record(1)), 'fdatasync(9</tmp/x>) = 0', answer(1)]],
    [
      'after a sync that failed',
      [pwrite(record(1)), `fdatasync(${LOG}) = -1 EIO (Input/output error)`, answer(1)],
    ],
    ['while the sync runs', [pwrite(record(1)), syncBegins, `@101 ${answer(1)}`, syncEnds]],
    [
      'after a sync that began before the write',
      [syncBegins, `@101 ${pwrite(record(1))}`, syncEnds, answer(1)],
    ],
    [
      'after a write of which only a part was taken',
      [pwrite(record(1)).replace(/= 64$/, '= 9'), sync, answer(1)],
    ],
  ])('%s is found', (_, lines) => {
    const found = check(...lines);
    expect(found.violations).toHaveLength(1);
    expect(found.violations[0]).toContain('enqueue 1 ');
  });

  test('a write that is not done when the sync begins does not count', () => {
    const bytes = record(1);
    const found = check(
      `pwrite64(${LOG}, ${quoted(bytes)}, 64, 0 <unfinished ...>`,
      `@101 ${syncBegins}`,
      '<... pwrite64 resumed>) = 64',
      `@101 ${syncEnds}`,
      answer(1),
    );
    expect(found.violations).toHaveLength(1);
  });

  test('a sync on another thread counts', () => {
    const found = check(
      pwrite(record(1)),
      `@101 ${syncBegins}`,
      write(Buffer.from('x'), '1</dev/null>'),
      `@101 ${syncEnds}`,
      answer(1),
    );
    expect(found).toMatchObject({ syncs: 1, enqueues: 1, violations: [] });
  });

  test('records in several buffers and writes, answers in halves', () => {
    const records = Buffer.concat([record(0x0122_5c22), record(2)]);
    const answers = enqueued(0x0122_5c22, 2);
    const cutAt = 70;
    const found = check(
      `pwritev(${LOG}, [{iov_base=${quoted(records.subarray(0, 5))}, iov_len=5}, {iov_base=${quoted(
        records.subarray(5, cutAt),
      )}, iov_len=65}], 2, 0) = 70`,
      pwrite(records.subarray(cutAt)),
      sync,
      write(answers.subarray(0, 7), SOCKET),
      write(answers.subarray(7), SOCKET),
    );
    expect(found).toMatchObject({ syncs: 1, enqueues: 2, violations: [] });
  });

  test('what cannot be read is not passed over', () => {
    const found = check(pwrite(record(1)), sync, answer(1).replace('", ', '"..., '));
    expect(found.violations).toHaveLength(1);
  });
});

describe('an answer to a dequeue, one at a time', () => {
  const removal = pwrite(Buffer.from('removed'));

  test('after the sync of its removal is right', () => {
    const found = check(removal, sync, taken(1), removal, sync, taken(2));
    expect(found).toMatchObject({ dequeues: 2, violations: [] });
  });

  test.each([
    ['without a write', [removal, sync, taken(1), sync, taken(2)]],
    ['before its sync', [removal, sync, taken(1), removal, taken(2), sync]],
    [
      'while its sync runs',
      [removal, sync, taken(1), removal, `@101 ${syncBegins}`, taken(2), `@101 ${syncEnds}`],
    ],
  ])('%s is found', (_, lines) => {
    const found = check(...lines);
    expect(found.violations).toHaveLength(1);
    expect(found.violations[0]).toContain('dequeue 2 ');
  });
});

// The data part of a message: none and zero length, every buffer type, and what TPNOCHANGE does to a message of another type
// [spec 1.6, 2.1, 2.2, 2.4 point 6, 3.2].
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type BufferType,
  carray,
  type Context,
  json,
  mbstring,
  string,
  TPFLAG,
  TPQ,
  typed,
  xml,
  xOctet,
} from '../../clients/typescript/index.ts';
import { daemonForAll } from '../support/in-process.ts';
import { codeOf, ctlOf, drain, fresh, put, SPACE, take } from './helpers.ts';

const queues = fresh('D', 60);
const daemon = daemonForAll({ spaces: [{ queues: queues.names }] });
let ctx: Context;
beforeAll(async () => {
  ctx = await daemon.join();
});

const BYTES = Buffer.from([0, 1, 0xff, 0x80, 0, 10, 13]);
/** As FML32 looks: a header, field ids, lengths, values; to the daemon just bytes. */
const FML32 = Buffer.from('464d4c3300000040020000000a000003e700000005414243440000', 'hex');

describe('no data part', () => {
  it.each<[string, unknown]>([
    ['NULL', null],
    ['a STRING of no characters', ''],
    ['a CARRAY of no bytes', new Uint8Array(0)],
    ['an FML32 buffer of no bytes', typed('FML32', '', new Uint8Array(0))],
    ['a VIEW32 without data', typed('VIEW32', 'V', null)],
  ])('%s is a message with no data', async (_name, data) => {
    const queue = queues.next();
    await put(ctx, queue, data, 'next');
    expect(await take(ctx, queue)).toEqual({ data: null, type: '', subtype: '' });
    expect(await drain(ctx, queue)).toEqual(['next']);
  });

  it('keeps the members of its control structure', async () => {
    const queue = queues.next();
    await ctx.tpenqueue(SPACE, queue, ctlOf(TPQ.TPQPRIORITY, { priority: 9, urcode: 3 }), null);
    const ctl = ctlOf(TPQ.TPQPRIORITY);
    expect((await take(ctx, queue, ctl)).data).toBeNull();
    expect([ctl.flags, ctl.priority, ctl.urcode]).toEqual([TPQ.TPQPRIORITY, 9, 3]);
  });

  it.each<[string, unknown[]]>([
    ['type 0 and no bytes', [0, '', Buffer.alloc(0)]],
    ['CARRAY and no bytes', [2, '', Buffer.alloc(0)]],
    ['STRING and nil', [1, '', null]],
    ['a named type and nil', ['FML32', 'SUB', null]],
  ])('on the wire: %s is answered as type 0, no subtype, nil', async (_name, body) => {
    const queue = queues.next();
    const raw = await daemon.raw();
    await raw.ask(3, 2, [SPACE, queue], null, 0, 0, ...(body as [number, string, null]));
    expect((await raw.ask(4, 3, [SPACE, queue], null, 0, 0, 0, '', 0)).slice(3)).toEqual([0, '', null]);
  });
});

describe('a buffer type travels with its data', () => {
  it.each<[string, unknown, unknown, string, string]>([
    ['STRING', string('grüße'), 'grüße', 'STRING', ''],
    ['CARRAY', carray(BYTES), BYTES, 'CARRAY', ''],
    ['X_OCTET', xOctet(BYTES), BYTES, 'X_OCTET', ''],
    ['JSON', json({ a: [1, null] }), { a: [1, null] }, 'JSON', ''],
    ['XML', xml('<a/>'), '<a/>', 'XML', ''],
    ['MBSTRING', mbstring('ä', 'ISO-8859-1'), 'ä', 'MBSTRING', 'ISO-8859-1'],
    ['FML32, opaque', typed('FML32', '', FML32), FML32, 'FML32', ''],
    ['VIEW32 with a subtype', typed('VIEW32', 'aview', BYTES), BYTES, 'VIEW32', 'aview'],
    ['names of 8 and 16 bytes', typed('ABCDEFGH', 'S'.repeat(16), BYTES), BYTES, 'ABCDEFGH', 'S'.repeat(16)],
  ])('%s', async (_name, sent, data, type, subtype) => {
    const queue = queues.next();
    await put(ctx, queue, sent);
    const received = await take(ctx, queue);
    expect([received.type, received.subtype]).toEqual([type, subtype]);
    const got = received.data instanceof Uint8Array ? Buffer.from(received.data) : received.data;
    expect(got).toEqual(data);
  });

  it('a type of the list may be sent by name and is the same type', async () => {
    const queue = queues.next();
    const raw = await daemon.raw();
    await raw.ask(3, 2, [SPACE, queue], null, 0, 0, 'STRING', '', Buffer.from('x'));
    expect(await take(ctx, queue)).toEqual({ data: 'x', type: 'STRING', subtype: '' });
  });
});

describe('TPNOCHANGE [spec 2.2]', () => {
  const STORED = typed('VIEW32', 'aview', BYTES);

  it.each<[string, BufferType]>([
    ['another type', { type: 'STRING' }],
    ['another subtype', { type: 'VIEW32', subtype: 'bview' }],
    ['no subtype', { type: 'VIEW32' }],
    ['the type in lower case', { type: 'view32', subtype: 'aview' }],
  ])('%s is TPEOTYPE; message and order stay, nothing is locked', async (_name, buffer) => {
    const queue = queues.next();
    await put(ctx, queue, STORED, 'second');
    const call = ctx.tpdequeue(SPACE, queue, null, buffer, TPFLAG.TPNOCHANGE);
    expect(await codeOf(call)).toBe('TPEOTYPE');
    expect((await daemon.queue(queue)).locked).toBe(0);
    expect((await drain(ctx, queue)).length).toBe(2);
  });

  it('the same type and subtype is taken', async () => {
    const queue = queues.next();
    await put(ctx, queue, STORED);
    const buffer = { type: 'VIEW32', subtype: 'aview' };
    expect((await ctx.tpdequeue(SPACE, queue, null, buffer, TPFLAG.TPNOCHANGE)).type).toBe('VIEW32');
  });

  it('a TPEOTYPE counts as no attempt: the message is not moved or delayed', async () => {
    const queue = queues.next();
    await put(ctx, queue, 'text');
    for (let i = 0; i < 5; i++) {
      await codeOf(ctx.tpdequeue(SPACE, queue, null, { type: 'CARRAY' }, TPFLAG.TPNOCHANGE));
    }
    expect(await drain(ctx, queue)).toEqual(['text']);
  });

  it('peeks obey it too', async () => {
    const queue = queues.next();
    await put(ctx, queue, 'text');
    const peek = ctx.tpdequeue(SPACE, queue, ctlOf(TPQ.TPQPEEK), { type: 'CARRAY' }, TPFLAG.TPNOCHANGE);
    expect(await codeOf(peek)).toBe('TPEOTYPE');
  });

  it('without the flag a buffer given does not matter', async () => {
    const queue = queues.next();
    await put(ctx, queue, 'text');
    expect((await ctx.tpdequeue(SPACE, queue, null, { type: 'CARRAY' })).data).toBe('text');
  });
});

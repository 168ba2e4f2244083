// tpenqueue, tpdequeue, tpcall and transactions of a context, against the fake daemon.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  carray,
  type Context,
  json,
  mbstring,
  QME,
  TPERRNO,
  TpError,
  TPFLAG,
  tpinit,
  TPQ,
  TPQCTL,
  typed,
  xml,
  xOctet,
} from '../../clients/typescript/index.ts';
import { OP, RVAL } from '../../proto/codes.ts';
import { FakeDaemon } from '../support/fake-daemon.ts';

let daemon: FakeDaemon;
let ctx: Context;

beforeEach(async () => {
  daemon = await FakeDaemon.start();
  ctx = await tpinit({
    address: daemon.address,
    usrname: 'alice',
    cltname: 'test',
    data: new Uint8Array([1, 2]),
  });
});

afterEach(async () => {
  await ctx.tpterm();
  await daemon.stop();
});

async function failure(promise: Promise<unknown>): Promise<TpError> {
  const result: unknown = await promise.then(
    () => null,
    (error: unknown) => error,
  );
  if (!TpError.is(result)) throw new Error('it did not fail with a TpError', { cause: result });
  return result;
}

describe('tpinit', () => {
  it('sends the TPINIT members', () => {
    expect(daemon.requests[0]).toMatchObject({
      op: OP.HELLO,
      usrname: 'alice',
      cltname: 'test',
      product: /@tmqueue/,
    });
  });

  it.each([
    ['a name of 31 bytes', { usrname: 'x'.repeat(31) }, TPERRNO.TPEINVAL],
    ['an address that is none', { address: 'tcp:/x' }, TPERRNO.TPEINVAL],
    ['flags that are none', { flags: -1 }, TPERRNO.TPEINVAL],
    ['nobody listening', { address: '//127.0.0.1:1' }, TPERRNO.TPESYSTEM],
  ])('%s', async (_name, options, tperrno) => {
    expect((await failure(tpinit({ address: daemon.address, ...options }))).tperrno).toBe(tperrno);
  });

  it('passes on why it was refused', async () => {
    daemon.script = (request) =>
      request.op === OP.HELLO
        ? { op: OP.ERROR, id: request.id, tperrno: TPERRNO.TPEPERM, diagnostic: 0, message: 'bad password' }
        : 'default';
    const error = await failure(tpinit({ address: daemon.address }));
    expect([error.tperrno, error.message]).toEqual([
      TPERRNO.TPEPERM,
      expect.stringContaining('bad password'),
    ]);
  });

  it('gives up on a daemon that does not answer, and when it is aborted', async () => {
    daemon.script = () => null;
    const late = await failure(tpinit({ address: daemon.address, connectTimeoutMs: 30 }));
    expect(late.tperrno).toBe(TPERRNO.TPETIME);
    const aborted = await failure(tpinit({ address: daemon.address, signal: AbortSignal.timeout(20) }));
    expect(aborted.tperrno).toBe(TPERRNO.TPGOTSIG);
  });

  it('tries several addresses in order', async () => {
    const other = await tpinit({ address: `//127.0.0.1:1,${daemon.address}` });
    await other.tpterm();
  });
});

describe('tpenqueue and tpdequeue', () => {
  it('write their outputs into ctl as C does', async () => {
    const put = new TPQCTL({
      flags: TPQ.TPQMSGID | TPQ.TPQPRIORITY | TPQ.TPQCORRID | TPQ.TPQREPLYQ,
      priority: 80,
      corrid: 'order-17',
      replyqueue: 'RPLYQ',
      urcode: -5,
    });
    await ctx.tpenqueue('QSPACE', 'Q', put, 'hello');
    expect(put.msgid?.length).toBe(32);
    const got = new TPQCTL({
      flags: TPQ.TPQMSGID | TPQ.TPQPRIORITY | TPQ.TPQCORRID | TPQ.TPQREPLYQ | TPQ.TPQFAILUREQ | TPQ.TPQTOP,
      failurequeue: 'untouched',
    });
    expect(await ctx.tpdequeue('QSPACE', 'Q', got, null)).toEqual({
      data: 'hello',
      type: 'STRING',
      subtype: '',
    });
    expect(got).toMatchObject({
      flags: TPQ.TPQMSGID | TPQ.TPQPRIORITY | TPQ.TPQCORRID | TPQ.TPQREPLYQ,
      priority: 80,
      replyqueue: 'RPLYQ',
      failurequeue: 'untouched',
      urcode: -5,
      appkey: -1,
      diagnostic: 0,
    });
    expect(got.msgid).toEqual(put.msgid);
    expect(Buffer.from(got.corrid as Uint8Array).toString()).toBe(`order-17${'\0'.repeat(24)}`);
    expect(got.cltid).toEqual(new Uint8Array(16).fill(0xc1));
  });

  it('leave msgid untouched when it was not asked for', async () => {
    const ctl = new TPQCTL();
    await ctx.tpenqueue('QSPACE', 'Q', ctl, 'x');
    expect(ctl.msgid).toBeNull();
  });

  it('read no member whose flag is off', async () => {
    const ctl = new TPQCTL({ corrid: 'x'.repeat(99), priority: 1.5, replyqueue: 'x'.repeat(9999) });
    await ctx.tpenqueue('QSPACE', 'Q', ctl, 'x');
    expect(daemon.requests.at(-1)).toMatchObject({ ctl: { corrid: null, priority: 0, replyqueue: '' } });
  });

  it.each([
    ['STRING', 'grüße', 'grüße'],
    ['CARRAY', new Uint8Array([0, 255]), new Uint8Array([0, 255])],
    ['X_OCTET', xOctet(new Uint8Array([7])), new Uint8Array([7])],
    ['JSON', { a: [1, null, 'x'] }, { a: [1, null, 'x'] }],
    ['JSON', json('text'), 'text'],
    ['JSON', json(null), null],
    ['JSON', 17, 17],
    ['XML', xml('<a/>'), '<a/>'],
    ['MBSTRING', mbstring('grüße', 'UTF-16LE'), 'grüße'],
    ['CARRAY', carray(Buffer.alloc(100_000, 3)), new Uint8Array(100_000).fill(3)],
    ['FML32', typed('FML32', 'sub', new Uint8Array([1, 2])), new Uint8Array([1, 2])],
    ['', '', null],
    ['', new Uint8Array(0), null],
    ['', null, null],
  ])('carry a %s', async (type, data, expected) => {
    await ctx.tpenqueue('QSPACE', 'Q', null, data);
    const got = await ctx.tpdequeue('QSPACE', 'Q', null, null);
    expect([got.type, got.data]).toEqual([type, expected]);
  });

  it('give the bytes of what is not of its type in the error', async () => {
    await ctx.tpenqueue('QSPACE', 'Q', null, typed('JSON', '', Buffer.from('{broken')));
    const error = await failure(ctx.tpdequeue('QSPACE', 'Q', null, null));
    expect(error.tperrno).toBe(TPERRNO.TPEOTYPE);
    expect(error.reply).toEqual({ type: 'JSON', subtype: '', data: new Uint8Array(Buffer.from('{broken')) });
  });

  it('set the diagnostic when a call fails with TPEDIAGNOSTIC', async () => {
    const ctl = new TPQCTL();
    const error = await failure(ctx.tpenqueue('QSPACE', 'NONE', ctl, 'x'));
    expect(error).toMatchObject({
      tperrno: TPERRNO.TPEDIAGNOSTIC,
      diagnostic: QME.QMEBADQUEUE,
      operation: 'tpenqueue',
      outcomeUnknown: false,
    });
    expect(error.message).toMatch(/^TPEDIAGNOSTIC\/QMEBADQUEUE: /);
    expect(ctl.diagnostic).toBe(QME.QMEBADQUEUE);
    const empty = new TPQCTL();
    expect((await failure(ctx.tpdequeue('QSPACE', 'EMPTY', empty, null))).diagnostic).toBe(QME.QMENOMSG);
    expect(empty.diagnostic).toBe(QME.QMENOMSG);
  });

  it.each([
    ['no queue space', '', 'Q', 0],
    ['no queue', 'QSPACE', '', 0],
    ['a queue name with NUL', 'QSPACE', 'a\0b', 0],
    ['a queue name of 128 bytes', 'QSPACE', 'q'.repeat(128), 0],
    ['TPNOCHANGE on enqueue', 'QSPACE', 'Q', TPFLAG.TPNOCHANGE],
    ['an unknown flag', 'QSPACE', 'Q', 0x4000],
    ['a negative flag', 'QSPACE', 'Q', -8],
    ['a flag beyond 32 bits', 'QSPACE', 'Q', 2 ** 32],
  ])('TPEINVAL: %s', async (_name, qspace, qname, flags) => {
    const before = daemon.requests.length;
    expect((await failure(ctx.tpenqueue(qspace, qname, null, 'x', flags))).tperrno).toBe(TPERRNO.TPEINVAL);
    expect(daemon.requests.length).toBe(before);
  });

  it.each([
    ['a corrid of 33 bytes', { flags: TPQ.TPQCORRID, corrid: 'ä'.repeat(17) }],
    ['no corrid', { flags: TPQ.TPQCORRID }],
    ['a msgid of 16 bytes', { flags: TPQ.TPQBEFOREMSGID, msgid: new Uint8Array(16) }],
    ['half a priority', { flags: TPQ.TPQPRIORITY, priority: 1.5 }],
    ['flags that are no integer', { flags: Number.NaN }],
    ['a reply queue of a megabyte', { flags: TPQ.TPQREPLYQ, replyqueue: 'x'.repeat(1e6) }],
  ])('QMEINVAL: %s', async (_name, members) => {
    const ctl = new TPQCTL(members);
    const error = await failure(ctx.tpenqueue('QSPACE', 'Q', ctl, 'x'));
    expect([error.diagnostic, ctl.diagnostic]).toEqual([QME.QMEINVAL, QME.QMEINVAL]);
  });

  it('refuse data above the limit by themselves, naming both sizes', async () => {
    const limit = daemon.hello.messageBytesMax;
    await ctx.tpenqueue('QSPACE', 'Q', null, Buffer.alloc(limit));
    const error = await failure(ctx.tpenqueue('QSPACE', 'Q', null, Buffer.alloc(limit + 1)));
    expect(error.tperrno).toBe(TPERRNO.TPEINVAL);
    expect(error.message).toMatch(new RegExp(`${limit + 1}.*${limit}`));
  });

  it('send a type filter with TPNOCHANGE', async () => {
    await failure(ctx.tpdequeue('QSPACE', 'Q', null, { type: 'XML' }, TPFLAG.TPNOCHANGE));
    expect(daemon.requests.at(-1)).toMatchObject({ op: OP.DEQUEUE, type: 'XML', flags: TPFLAG.TPNOCHANGE });
    expect((await failure(ctx.tpdequeue('QSPACE', 'Q', null, null, TPFLAG.TPNOCHANGE))).tperrno).toBe(
      TPERRNO.TPEINVAL,
    );
  });

  it('bind a queue that is used again to a handle', async () => {
    for (let i = 0; i < 4; i++) await ctx.tpenqueue('QSPACE', 'Q', null, `${i}`);
    expect(daemon.requests.filter(({ op }) => op === OP.BIND).length).toBe(1);
    expect(daemon.requests.at(-1)).toMatchObject({ op: OP.ENQUEUE, queue: 0 });
    expect(daemon.texts('QSPACE/Q')).toEqual(['0', '1', '2', '3']);
  });

  it('wait with TPQWAIT without holding up what follows', async () => {
    const waiting = ctx.tpdequeue('QSPACE', 'Q', new TPQCTL({ flags: TPQ.TPQWAIT }), null);
    await ctx.tpenqueue('QSPACE', 'Q', null, 'late');
    expect((await waiting).data).toBe('late');
  });
});

describe('transactions of a context', () => {
  it('carry their number unless TPNOTRAN', async () => {
    expect(ctx.tpgetlev()).toBe(0);
    await ctx.tpbegin(30);
    expect(ctx.tpgetlev()).toBe(1);
    await ctx.tpenqueue('QSPACE', 'Q', null, 'inside');
    await ctx.tpenqueue('QSPACE', 'Q', null, 'outside', TPFLAG.TPNOTRAN);
    expect(daemon.texts('QSPACE/Q')).toEqual(['outside']);
    await ctx.tpcommit();
    expect(daemon.texts('QSPACE/Q')).toEqual(['outside', 'inside']);
    expect(ctx.tpgetlev()).toBe(0);
  });

  it('are at most one, and end once', async () => {
    const first = ctx.tpbegin(30);
    expect((await failure(ctx.tpbegin(30))).tperrno).toBe(TPERRNO.TPEPROTO);
    await first;
    expect((await failure(ctx.tpbegin(30))).tperrno).toBe(TPERRNO.TPEPROTO);
    await ctx.tpabort();
    expect((await failure(ctx.tpabort())).tperrno).toBe(TPERRNO.TPEPROTO);
    expect((await failure(ctx.tpcommit())).tperrno).toBe(TPERRNO.TPEPROTO);
    expect((await failure(ctx.tpbegin(-1))).tperrno).toBe(TPERRNO.TPEINVAL);
    expect((await failure(ctx.tpbegin(1, 8))).tperrno).toBe(TPERRNO.TPEINVAL);
  });

  it('are over when the commit fails with TPEABORT', async () => {
    await ctx.tpbegin(30);
    daemon.script = (request) =>
      request.op === OP.COMMIT
        ? { op: OP.ERROR, id: request.id, tperrno: TPERRNO.TPEABORT, diagnostic: 0, message: 'timed out' }
        : 'default';
    expect((await failure(ctx.tpcommit())).tperrno).toBe(TPERRNO.TPEABORT);
    expect(ctx.tpgetlev()).toBe(0);
  });

  it('of forked contexts share a socket and nothing else', async () => {
    const other = ctx.fork();
    await ctx.tpbegin(30);
    await other.tpbegin(30);
    await ctx.tpenqueue('QSPACE', 'Q', null, 'mine');
    await other.tpenqueue('QSPACE', 'Q', null, 'theirs');
    await other.tpcommit();
    expect(daemon.texts('QSPACE/Q')).toEqual(['theirs']);
    await ctx.tpcommit();
    expect(daemon.connections.length).toBe(1);
    const waiting = other.tpdequeue('QSPACE', 'EMPTY', new TPQCTL({ flags: TPQ.TPQWAIT }), null);
    const given = failure(waiting);
    await other.tpterm();
    expect((await given).tperrno).toBe(TPERRNO.TPGOTSIG);
    expect(daemon.waiters.length).toBe(0);
    await ctx.tpenqueue('QSPACE', 'Q', null, 'still here');
    expect((await failure(other.tpenqueue('QSPACE', 'Q', null, 'x'))).tperrno).toBe(TPERRNO.TPEPROTO);
  });

  it('ctx.transaction commits what resolves and rolls back what throws, several beside each other', async () => {
    const results = await Promise.allSettled([
      ctx.transaction(async (tx) => {
        await tx.tpenqueue('QSPACE', 'Q', null, 'a');
        await tx.queue('QSPACE', 'Q').put('b');
        return 1;
      }),
      ctx.transaction(async (tx) => {
        await tx.tpenqueue('QSPACE', 'Q', null, 'never');
        throw new Error('mine');
      }),
    ]);
    expect(results[0]).toEqual({ status: 'fulfilled', value: 1 });
    expect(results[1]).toMatchObject({ status: 'rejected', reason: { message: 'mine' } });
    expect(daemon.texts('QSPACE/Q')).toEqual(['a', 'b']);
    expect([daemon.commits, daemon.aborts, ctx.tpgetlev()]).toEqual([1, 1, 0]);
  });

  it('a transaction is closed after its end', async () => {
    const tx = await ctx.transaction((inside) => inside);
    expect((await failure(tx.tpenqueue('QSPACE', 'Q', null, 'x'))).tperrno).toBe(TPERRNO.TPEPROTO);
  });
});

describe('tpcall', () => {
  it('returns the data, and the rcode in tpurcode', async () => {
    daemon.script = (request) =>
      request.op === OP.CALL
        ? { op: OP.CALL, id: request.id, rval: RVAL.TPSUCCESS, rcode: 7, body: request.body }
        : 'default';
    expect(await ctx.tpcall('ECHO', 'x')).toEqual({ data: 'x', type: 'STRING', subtype: '' });
    expect(ctx.tpurcode).toBe(7);
    expect(ctx.fork().tpurcode).toBe(0);
  });

  it('TPFAIL is TPESVCFAIL with the data', async () => {
    daemon.script = (request) =>
      request.op === OP.CALL
        ? { op: OP.CALL, id: request.id, rval: RVAL.TPFAIL, rcode: 9, body: request.body }
        : 'default';
    const error = await failure(ctx.tpcall('ECHO', { why: 'no' }));
    expect(error).toMatchObject({
      tperrno: TPERRNO.TPESVCFAIL,
      reply: { type: 'JSON', data: { why: 'no' } },
    });
    expect(ctx.tpurcode).toBe(9);
  });

  it('passes the transaction, so that the daemon answers TPETRAN', async () => {
    await ctx.tpbegin(30);
    expect((await failure(ctx.tpcall('ECHO', 'x'))).tperrno).toBe(TPERRNO.TPETRAN);
    expect((await failure(ctx.tpcall('ECHO', 'x', TPFLAG.TPNOTRAN))).tperrno).toBe(TPERRNO.TPENOENT);
    expect((await failure(ctx.tpcall('', 'x'))).tperrno).toBe(TPERRNO.TPEINVAL);
    expect((await failure(ctx.tpcall('ECHO', 'x', TPFLAG.TPNOREPLY))).tperrno).toBe(TPERRNO.TPEINVAL);
  });
});

describe('stat', () => {
  it('gives the statistics', async () => {
    expect(await ctx.stat()).toMatchObject({ version: '0.1.0', connections: 1 });
  });
});

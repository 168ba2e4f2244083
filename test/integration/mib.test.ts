// The MIB over a daemon in the test's process: the set-up sequence of public programs, every class's GET and SET, pages, and the numbers against
// those of QINFO and qmadmin.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type Context,
  MIB,
  type MibReply,
  type MibRequest,
  TAERROR,
  taErrorName,
  TPERRNO,
  TPQ,
  TPQCTL,
  TPQQOS,
} from '../../clients/typescript/index.ts';
import { prepareOffline } from '../support/prepared.ts';
import { withDaemon } from '../support/qmadmin-place.ts';
import { NOT_COUNTED } from '../../clients/typescript/mib/t-appqspace.ts';
import { failureOf } from './helpers.ts';

interface Setting {
  readonly ctx: Context;
  readonly device: string;
  readonly run: (...script: string[]) => Promise<{ out: string[]; err: string[] }>;
  readonly get: (TA_CLASS: string, keys?: MibRequest) => Promise<MibReply>;
  readonly set: (TA_CLASS: string, fields?: MibRequest) => Promise<MibReply>;
  /** The name of TA_ERROR, a colon, TA_BADFLD. */
  readonly fault: (TA_CLASS: string, fields: MibRequest) => Promise<string>;
}

/** SERVED with the queue Q, and its keys in every request. */
async function setting(space = 'SERVED'): Promise<Setting> {
  const { path: device, daemon, run } = await withDaemon();
  const ctx = await daemon.join();
  const keysOf = (TA_CLASS: string): MibRequest =>
    TA_CLASS === 'T_DEVICE'
      ? { TA_CFGDEVICE: device }
      : { TA_QMCONFIG: device, TA_APPQSPACENAME: space, TA_LMID: 'SITE1' };
  const call = (TA_OPERATION: string, TA_CLASS: string, fields: MibRequest = {}): Promise<MibReply> =>
    ctx.tpadmcall({ TA_OPERATION, TA_CLASS, ...keysOf(TA_CLASS), ...fields });
  return {
    ctx,
    device,
    run,
    get: (name, keys) => call('GET', name, keys),
    set: (name, fields) => call('SET', name, fields),
    fault: async (name, fields) => faultOf(call('SET', name, fields)),
  };
}

async function faultOf(work: Promise<MibReply>): Promise<string> {
  const error = await failureOf(work);
  expect(error.tperrno).toBe(TPERRNO.TPEMIB);
  const answer = error.reply?.data as MibReply;
  expect(error.text).toBe(`${taErrorName(answer.TA_ERROR)}: ${answer.TA_STATUS}`);
  return `${taErrorName(answer.TA_ERROR)}:${answer.TA_BADFLD ?? ''}`;
}

async function put(ctx: Context, queue: string, data: string, init: Partial<TPQCTL> = {}): Promise<string> {
  const ctl = new TPQCTL({ ...init, flags: (init.flags ?? 0) | TPQ.TPQMSGID });
  await ctx.tpenqueue('ALIAS', queue, ctl, data);
  return Buffer.from(ctl.msgid ?? []).toString();
}

describe('the set-up sequence of public programs', () => {
  it('makes a device entry, a space and a queue, and closes the space', async () => {
    const { ctx, device, set, get, run } = await setting('QSNEW');
    const entry = await set('T_DEVICE', { TA_STATE: 'NEW', TA_DEVICE: `${device}-2`, TA_DEVSIZE: '500' });
    expect(entry).toMatchObject({ TA_ERROR: TAERROR.TAUPDATED, TA_OCCURS: 1, TA_DEVINDEX: [1] });
    const made = await set('T_APPQSPACE', {
      TA_STATE: 'NEW',
      TA_IPCKEY: '98765',
      TA_MAXMSG: 200,
      TA_MAXPAGES: 2300,
      TA_MAXPROC: '20',
      TA_MAXQUEUES: 10,
      TA_MAXTRANS: 30,
    });
    expect(made).toMatchObject({
      TA_ERROR: TAERROR.TAUPDATED,
      TA_OCCURS: 1,
      TA_MORE: 0,
      TA_APPQSPACENAME: ['QSNEW'],
      TA_STATE: ['INA'],
      TA_LMID: ['SITE1'],
      TA_IPCKEY: [98_765],
      TA_MAXPAGES: [2300],
      TA_BLOCKING: [16],
      TA_MEMNONPERSIST: ['0b'],
      TA_CURMSG: [-1],
      TA_PERCENTINIT: [100],
    });
    const queue = await set('T_APPQ', { TA_STATE: 'NEW', TA_APPQNAME: 'FIRST' });
    expect(queue).toMatchObject({
      TA_ERROR: TAERROR.TAUPDATED,
      TA_APPQORDER: ['FIFO'],
      TA_DEFEXPIRATIONTIME: ['NONE'],
      TA_DEFDELIVERYPOLICY: ['PERSIST'],
      TA_CMDHW: ['100%'],
      TA_OUTOFORDER: ['NONE'],
    });
    expect((await get('T_APPQSPACE'))['TA_STATE']).toEqual(['OPE']);
    const closed = await set('T_APPQSPACE', { TA_STATE: 'CLEANING', TA_FLAGS: MIB.QMIB_FORCECLOSE });
    expect(closed).toMatchObject({ TA_ERROR: TAERROR.TAUPDATED, TA_STATE: ['INA'] });
    const again = await set('T_APPQSPACE', { TA_STATE: 'CLE', TA_FLAGS: MIB.QMIB_FORCECLOSE });
    expect(again.TA_ERROR).toBe(TAERROR.TAOK);
    const told = await run('qspl QSNEW', 'qopen QSNEW', 'qinfo FIRST');
    expect(told.err).toEqual([]);
    expect(told.out.join('\n')).toMatch(/QSNEW +98765 +2300 +10 +30 +20 +200/);
    expect(told.out.join('\n')).toContain('Queue FIRST: 0 ');
    // Everyone else's spaces are there as before, and one request shows them all.
    const all = await ctx.tpadmcall({ TA_OPERATION: 'get', TA_CLASS: 'T_APPQSPACE', TA_QMCONFIG: [device] });
    expect(all).toMatchObject({
      TA_OCCURS: 2,
      TA_APPQSPACENAME: ['QSNEW', 'SERVED'],
      TA_STATE: ['OPE', 'ACT'],
    });
    const active = await get('T_APPQSPACE', { TA_APPQSPACENAME: undefined, TA_STATE: 'ACTIVE' });
    expect(active['TA_APPQSPACENAME']).toEqual(['SERVED']);
  });
});

describe('T_DEVICE', () => {
  it('shows entries page by page, and removes what is not in use', async () => {
    const { ctx, device, get, set, fault } = await setting();
    await set('T_DEVICE', { TA_STATE: 'NEW', TA_DEVICE: '/two', TA_DEVOFFSET: 7, TA_DEVSIZE: 9 });
    const first = await get('T_DEVICE', { TA_OCCURS: 1 });
    expect(first).toMatchObject({ TA_MORE: 1, TA_DEVICE: [device], TA_DEVSIZE: [2000] });
    const { TA_CURSOR } = first;
    const second = await ctx.tpadmcall({ TA_OPERATION: 'GETNEXT', TA_CURSOR });
    expect(second).toMatchObject({ TA_MORE: 0, TA_DEVICE: ['/two'], TA_DEVOFFSET: [7], TA_DEVINDEX: [1] });
    expect(await fault('T_DEVICE', { TA_STATE: 'INV', TA_DEVINDEX: 0 })).toBe('TAEPROTO:');
    expect(await fault('T_DEVICE', { TA_STATE: 'INV', TA_DEVINDEX: 2 })).toBe('TAEUNIQ:TA_DEVINDEX');
    expect(await fault('T_DEVICE', { TA_STATE: 'INV' })).toBe('TAEREQUIRED:TA_DEVINDEX');
    expect(await fault('T_DEVICE', { TA_DEVICE: '/x' })).toBe('TAEREQUIRED:TA_STATE');
    expect(await set('T_DEVICE', { TA_STATE: 'INV', TA_DEVINDEX: 1 })).toMatchObject({ TA_OCCURS: 0 });
    expect((await get('T_DEVICE')).TA_OCCURS).toBe(1);
  });
});

const NEW_SPACE = {
  TA_IPCKEY: 40_000,
  TA_MAXMSG: 5,
  TA_MAXPAGES: 10,
  TA_MAXPROC: 1,
  TA_MAXQUEUES: 2,
  TA_MAXTRANS: 3,
};

describe('T_APPQSPACE', () => {
  it('is opened, changed, extended and destroyed', async () => {
    const { get, set, fault } = await setting('S');
    await set('T_APPQSPACE', { TA_STATE: 'NEW', ...NEW_SPACE, TA_MEMNONPERSIST: '3', TA_ERRORQNAME: 'E' });
    expect(await fault('T_APPQSPACE', { TA_STATE: 'NEW', ...NEW_SPACE })).toBe('TAEPROTO:TA_STATE');
    expect(await set('T_APPQSPACE', { TA_STATE: 'OPE' })).toMatchObject({ TA_ERROR: 1, TA_STATE: ['OPE'] });
    expect(await set('T_APPQSPACE', { TA_STATE: 'OPE' })).toMatchObject({ TA_ERROR: 0, TA_CURMSG: [0] });
    expect(await get('T_APPQSPACE')).toMatchObject({
      TA_MEMNONPERSIST: ['1536b'],
      TA_ERRORQNAME: ['E'],
      TA_CURQUEUES: [0],
      TA_CUREXTENT: [1],
      TA_CURHANDLES: [0],
    });
    const unknown = Object.entries(await get('T_APPQSPACE')).filter(([, value]) => String(value) === '-1');
    expect(unknown.map(([name]) => name).toSorted()).toEqual(NOT_COUNTED.toSorted());
    expect(await set('T_APPQSPACE', { TA_MAXMSG: 9, TA_MEMNONPERSIST: '10b' })).toMatchObject({
      TA_ERROR: 1,
      TA_MAXMSG: [9],
      TA_MEMNONPERSIST: ['10b'],
      TA_STATE: ['INA'],
    });
    expect(await set('T_APPQSPACE', { TA_MAXMSG: 9, TA_MAXQUEUES: 2 })).toMatchObject({ TA_ERROR: 0 });
    expect(await set('T_APPQSPACE', { TA_MAXPAGES: 25 })).toMatchObject({ TA_ERROR: 1, TA_MAXPAGES: [25] });
    const rows: [MibRequest, string][] = [
      [{ TA_MAXPAGES: 24 }, 'TAEINVAL:TA_MAXPAGES'],
      [{ TA_MAXPAGES: 30, TA_MAXMSG: 1 }, 'TAEINVAL:TA_MAXPAGES'],
      [{ TA_MAXPAGES: 1_000_000 }, 'TAESYSTEM:'],
      [{ TA_MAXQUEUES: 3 }, 'TAEPERM:TA_MAXQUEUES'],
      [{ TA_FORCEINIT: 'Y' }, 'TAEPERM:TA_FORCEINIT'],
      [{ TA_BLOCKING: 101 }, 'TAEINVAL:TA_BLOCKING'],
      [{ TA_MEMNONPERSIST: '5x' }, 'TAEINVAL:TA_MEMNONPERSIST'],
      [{ TA_APPQSPACENAME: 'NONE', TA_STATE: 'OPE' }, 'TAEUNIQ:TA_APPQSPACENAME'],
      [{ TA_QMCONFIG: '/none', TA_STATE: 'OPE' }, 'TAEINVAL:TA_QMCONFIG'],
    ];
    for (const [fields, code] of rows)
      expect([fields, await fault('T_APPQSPACE', fields)]).toEqual([fields, code]);
    expect((await set('T_APPQSPACE', { TA_STATE: 'INV' })).TA_ERROR).toBe(1);
    expect(await get('T_APPQSPACE')).toMatchObject({ TA_ERROR: 0, TA_OCCURS: 0 });
  });

  it('that is served is closed only by force, which empties its memory; with messages it is destroyed only by force', async () => {
    const { ctx, set, get, fault, run } = await setting();
    await put(ctx, 'Q', 'kept');
    await put(ctx, 'Q', 'lost', { flags: TPQ.TPQDELIVERYQOS, delivery_qos: TPQQOS.TPQQOSNONPERSISTENT });
    expect(await get('T_APPQ')).toMatchObject({ TA_CURMSG: [1], TA_CURNONPERSISTMSG: [1] });
    expect(await fault('T_APPQSPACE', { TA_STATE: 'CLE' })).toBe('TAEPROTO:');
    const forced = await set('T_APPQSPACE', { TA_STATE: 'CLE', TA_FLAGS: MIB.QMIB_FORCECLOSE });
    expect(forced).toMatchObject({
      TA_ERROR: 1,
      TA_STATE: ['ACT'],
      TA_CURMSG: [1],
      TA_CURMEMNONPERSIST: [0],
    });
    expect(await fault('T_APPQSPACE', { TA_STATE: 'INV', TA_FLAGS: MIB.QMIB_FORCEDELETE })).toBe('TAEPROTO:');
    const made = await run('qspc S 40000 10 2 3 1 5 "" n 16', 'qopen S', 'qcr Q fifo none 0 0 100% 0 ""');
    expect(made.err).toEqual([]);
    const other = { TA_APPQSPACENAME: 'S', TA_STATE: 'INV', TA_FLAGS: String(MIB.QMIB_FORCEDELETE) };
    expect((await set('T_APPQSPACE', other)).TA_ERROR).toBe(1);
  });
});

describe('T_APPQ', () => {
  it('is made, changed and destroyed, with all its attributes', async () => {
    const { ctx, set, get, fault } = await setting();
    const attributes = {
      TA_APPQORDER: 'PRIO,EXPIR,LIFO',
      TA_DEFEXPIRATIONTIME: '+60',
      TA_DEFDELIVERYPOLICY: 'NONPERSIST',
      TA_CMD: 'echo high',
      TA_CMDHW: '5m',
      TA_CMDLW: '0m',
      TA_CMDNONPERSIST: 'echo memory',
      TA_CMDNONPERSISTHW: '50%',
      TA_CMDNONPERSISTLW: '10%',
      TA_MAXRETRIES: 3,
      TA_OUTOFORDER: 'TOP,MSGID',
      TA_RETRYDELAY: 2,
    };
    const shown = Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, [value]]));
    const name = { TA_APPQNAME: 'NEWQ' };
    expect(await set('T_APPQ', { ...name, TA_STATE: 'NEW', ...attributes })).toMatchObject(shown);
    expect(await get('T_APPQ', name)).toMatchObject({ TA_OCCURS: 1, ...shown });
    expect(await fault('T_APPQ', { ...name, TA_STATE: 'NEW' })).toBe('TAEPROTO:TA_STATE');
    const same = { ...attributes, TA_OUTOFORDER: 'msgid,top' };
    expect((await set('T_APPQ', { ...name, ...same })).TA_ERROR).toBe(TAERROR.TAOK);
    const changed = await set('T_APPQ', { ...name, TA_MAXRETRIES: '4', TA_DEFEXPIRATIONTIME: 'none' });
    expect(changed).toMatchObject({ TA_ERROR: 1, TA_MAXRETRIES: [4], TA_DEFEXPIRATIONTIME: ['NONE'] });
    const rows: [MibRequest, string][] = [
      [{ ...name, TA_APPQORDER: 'FIFO' }, 'TAEPERM:TA_APPQORDER'],
      [{ ...name, TA_CMDHW: '0m' }, 'TAEINVAL:TA_CMDHW'],
      [{ ...name, TA_DEFEXPIRATIONTIME: '60' }, 'TAEINVAL:TA_DEFEXPIRATIONTIME'],
      [{ ...name, TA_CURMSG: 0 }, 'TAEPERM:TA_CURMSG'],
      [{ TA_APPQNAME: 'NONE', TA_MAXRETRIES: 1 }, 'TAEUNIQ:TA_APPQNAME'],
      [{ TA_APPQNAME: 'NONE', TA_STATE: 'INV' }, 'TAEUNIQ:TA_APPQNAME'],
      [{ TA_APPQNAME: 'X', TA_STATE: 'NEW', TA_APPQORDER: 'SIZE' }, 'TAEINVAL:TA_APPQORDER'],
      [{ ...name, TA_APPQSPACENAME: 'NOSPACE', TA_STATE: 'INV' }, 'TAEUNIQ:TA_APPQSPACENAME'],
    ];
    for (const [fields, code] of rows)
      expect([fields, await fault('T_APPQ', fields)]).toEqual([fields, code]);
    expect(await faultOf(get('T_APPQ', { TA_APPQSPACENAME: 'NOSPACE' }))).toBe('TAEINVAL:TA_APPQSPACENAME');
    expect(await faultOf(get('T_APPQ', { TA_QMCONFIG: '/none' }))).toBe('TAEINVAL:TA_QMCONFIG');
    expect(await faultOf(get('T_DEVICE', { TA_CFGDEVICE: '/none' }))).toBe('TAEINVAL:TA_CFGDEVICE');
    expect(await get('T_APPQ', { TA_APPQNAME: 'NONE' })).toMatchObject({ TA_ERROR: 0, TA_OCCURS: 0 });

    await put(ctx, 'NEWQ', 'x');
    const inv = { ...name, TA_STATE: 'INV' };
    expect(await fault('T_APPQ', inv)).toBe('TAEPROTO:');
    const holder = ctx.fork();
    await holder.tpbegin(60);
    await put(holder, 'NEWQ', 'y');
    const force = MIB.QMIB_FORCEPURGE | MIB.QMIB_FORCEDELETE;
    expect(await fault('T_APPQ', { ...inv, TA_FLAGS: force })).toBe('TAEPROTO:');
    await holder.tpabort();
    expect((await set('T_APPQ', { ...inv, TA_FLAGS: MIB.QMIB_FORCEPURGE })).TA_STATUS).toContain(
      '1 messages',
    );
    expect((await get('T_APPQ', name)).TA_OCCURS).toBe(0);
  });

  it('is shown page by page, with the counts of QINFO and qmadmin', async () => {
    const { ctx, device, get, run } = await setting('PAGES');
    await run('qspc PAGES 40000 100 300 3 1 500 "" n 16');
    const admin = ctx.admin(`${device}:PAGES`);
    await get('T_APPQ');
    const names = Array.from({ length: 260 }, (_, n) => `Q${String(n).padStart(3, '0')}`);
    await Promise.all(names.map((name) => admin.create(name)));
    const seen: unknown[] = [];
    const sizes: number[] = [];
    let page = await get('T_APPQ');
    for (;;) {
      seen.push(...(page['TA_APPQNAME'] as string[]));
      sizes.push(page.TA_OCCURS);
      if (page.TA_MORE === 0) break;
      const { TA_CURSOR } = page;
      page = await ctx.tpadmcall({ TA_OPERATION: 'GETNEXT', TA_CLASS: 'T_APPQ', TA_CURSOR });
    }
    expect(sizes).toEqual([100, 100, 60]);
    expect(seen).toEqual(names);
    const served = { TA_APPQSPACENAME: 'SERVED' };
    for (let n = 0; n < 7; n++) await put(ctx, 'Q', 'x'.repeat(300));
    const nonPersistent = { flags: TPQ.TPQDELIVERYQOS, delivery_qos: TPQQOS.TPQQOSNONPERSISTENT };
    for (let n = 0; n < 4; n++) await put(ctx, 'Q', 'memory', nonPersistent);
    const info = await ctx.admin('ALIAS').info('Q');
    expect(await get('T_APPQ', { ...served, TA_APPQNAME: 'Q' })).toMatchObject({
      TA_CURMSG: [7],
      TA_CURBLOCKS: [info.pages],
      TA_CURNONPERSISTMSG: [4],
      TA_CURNONPERSISTBYTES: [info.nonPersistentBytes],
    });
    const space = await ctx.admin('ALIAS').space();
    expect(await get('T_APPQSPACE', served)).toMatchObject({
      TA_CURMSG: [11],
      TA_CURQUEUES: [space.curQueues],
      TA_CURMEMNONPERSIST: [space.curNonPersistentBytes],
    });
    const told = await run('qopen SERVED', 'qinfo Q');
    expect(told.out.join('\n')).toContain(`Queue Q: 7 `);
  });
});

describe('T_APPQMSG', () => {
  it('is selected by every key', async () => {
    const { ctx, get } = await setting();
    const queue = { TA_APPQNAME: 'Q' };
    const first = await put(ctx, 'Q', 'one', {
      flags: TPQ.TPQPRIORITY | TPQ.TPQCORRID,
      priority: 80,
      corrid: Buffer.from('c'.padEnd(32, '\0')),
    });
    const binary = Buffer.alloc(32, 0xfe);
    const second = await put(ctx, 'Q', 'second', {
      flags: TPQ.TPQDELIVERYQOS | TPQ.TPQCORRID | TPQ.TPQREPLYQOS,
      delivery_qos: TPQQOS.TPQQOSNONPERSISTENT,
      reply_qos: TPQQOS.TPQQOSPERSISTENT,
      corrid: binary,
    });
    const third = await put(ctx, 'Q', 'three', {
      flags: TPQ.TPQTIME_REL | TPQ.TPQEXPTIME_REL,
      deq_time: 100,
      exp_time: 500,
    });
    const all = await get('T_APPQMSG', queue);
    expect(all).toMatchObject({
      TA_OCCURS: 3,
      TA_APPQMSGID: [first, second, third],
      TA_PRIORITY: [80, 50, 50],
      TA_CORRID: ['c', binary.toString('hex'), ''],
      TA_PERSISTENCE: ['PERSIST', 'NONPERSIST', 'PERSIST'],
      TA_REPLYPERSISTENCE: ['DEFAULT', 'PERSIST', 'DEFAULT'],
      TA_TIME: ['', '', expect.stringMatching(/^\d{12}$/)],
      TA_EXPIRETIME: ['', '', expect.stringMatching(/^\d{12}$/)],
      TA_MSGSIZE: [3, 6, 5],
      TA_CURRETRIES: [0, 0, 0],
    });
    const [, , time = ''] = all['TA_TIME'] as string[];
    const [, , expires = ''] = all['TA_EXPIRETIME'] as string[];
    const rows: [MibRequest, string[]][] = [
      [{ TA_LOWPRIORITY: 60 }, [first]],
      [{ TA_HIGHPRIORITY: '60' }, [second, third]],
      [{ TA_CORRID: 'c' }, [first]],
      [{ TA_CORRID: binary.toString('hex') }, [second]],
      [{ TA_PERSISTENCE: 'NONPERSIST' }, [second]],
      [{ TA_APPQMSGID: second }, [second]],
      [{ TA_MSGSTARTTIME: time, TA_MSGENDTIME: time }, [third]],
      [{ TA_MSGSTARTTIME: '+90', TA_MSGENDTIME: '+110' }, [third]],
      [{ TA_MSGENDTIME: '+50' }, []],
      [{ TA_MSGEXPIRESTARTTIME: expires, TA_MSGEXPIREENDTIME: expires }, [third]],
      [{ TA_MSGEXPIRESTARTTIME: '+600' }, []],
      [{ TA_STATE: 'VAL', TA_PERSISTENCE: 'persist', TA_LOWPRIORITY: 60 }, [first]],
    ];
    for (const [keys, ids] of rows) {
      const found = await get('T_APPQMSG', { ...queue, ...keys });
      expect([keys, found['TA_APPQMSGID'] ?? []]).toEqual([keys, ids]);
    }
    expect(await faultOf(get('T_APPQMSG', { TA_APPQNAME: 'NONE' }))).toBe('TAEINVAL:TA_APPQNAME');
    expect(await faultOf(get('T_APPQMSG', { ...queue, TA_APPQMSGID: 'x' }))).toBe('TAEINVAL:TA_APPQMSGID');
    expect(await get('T_APPQMSG', { ...queue, TA_APPQMSGID: '0'.repeat(32) })).toMatchObject({
      TA_OCCURS: 0,
    });
  });

  it('is shown page by page, a cursor keeping what selects', async () => {
    const { ctx, get } = await setting();
    for (let n = 0; n < 12; n++) await put(ctx, 'Q', 'x', { flags: TPQ.TPQPRIORITY, priority: (n % 2) + 1 });
    let page = await get('T_APPQMSG', { TA_APPQNAME: 'Q', TA_HIGHPRIORITY: 1, TA_OCCURS: 4 });
    const seen = [...(page['TA_APPQMSGID'] as string[])];
    expect(page.TA_MORE).toBe(1);
    page = await ctx.tpadmcall({ TA_OPERATION: 'GETNEXT', TA_CURSOR: page.TA_CURSOR, TA_OCCURS: 100 });
    seen.push(...(page['TA_APPQMSGID'] as string[]));
    expect([page.TA_MORE, new Set(seen).size, seen.length]).toEqual([0, 6, 6]);
    expect(page['TA_PRIORITY']).toEqual([1, 1]);
  });

  it('has its priority, times and queue set, and is deleted', async () => {
    const { ctx, set, get, fault } = await setting();
    await set('T_APPQ', { TA_APPQNAME: 'OTHER', TA_STATE: 'NEW' });
    const id = await put(ctx, 'Q', 'x');
    const name = { TA_APPQNAME: 'Q', TA_APPQMSGID: id };
    const expected = {
      TA_ERROR: 1,
      TA_PRIORITY: [9],
      TA_TIME: ['370102030405'],
      TA_EXPIRETIME: ['371231000000'],
    };
    const values = { TA_PRIORITY: 9, TA_TIME: '370102030405', TA_EXPIRETIME: '371231' };
    expect(await set('T_APPQMSG', { ...name, ...values })).toMatchObject(expected);
    expect(await set('T_APPQMSG', { ...name, TA_EXPIRETIME: '' })).toMatchObject({ TA_EXPIRETIME: [''] });
    expect(await set('T_APPQMSG', name)).toMatchObject({ TA_ERROR: 0, TA_OCCURS: 1, TA_PRIORITY: [9] });
    const rows: [MibRequest, string][] = [
      [{ ...name, TA_PRIORITY: 101 }, 'TAEINVAL:TA_PRIORITY'],
      [{ ...name, TA_TIME: 'soon' }, 'TAEINVAL:TA_TIME'],
      [{ ...name, TA_NEWAPPQNAME: 'NONE' }, 'TAEINVAL:TA_NEWAPPQNAME'],
      [{ ...name, TA_PRIORITY: 10, TA_NEWAPPQNAME: 'Q' }, 'TAEINVAL:TA_NEWAPPQNAME'],
      [{ ...name, TA_STATE: 'INV', TA_PRIORITY: 3 }, 'TAEINVAL:TA_PRIORITY'],
      [{ ...name, TA_STATE: 'NEW' }, 'TAEINVAL:TA_STATE'],
      [{ ...name, TA_CORRID: 'x' }, 'TAEPERM:TA_CORRID'],
      [{ ...name, TA_LOWPRIORITY: 3 }, 'TAEINVAL:TA_LOWPRIORITY'],
      [{ ...name, TA_APPQNAME: 'NONE', TA_PRIORITY: 3 }, 'TAEUNIQ:TA_PRIORITY'],
      [{ ...name, TA_APPQMSGID: '0'.repeat(32), TA_PRIORITY: 3 }, 'TAEUNIQ:TA_PRIORITY'],
      [{ ...name, TA_APPQMSGID: 'x', TA_PRIORITY: 3 }, 'TAEUNIQ:TA_APPQMSGID'],
    ];
    for (const [fields, code] of rows)
      expect([fields, await fault('T_APPQMSG', fields)]).toEqual([fields, code]);
    // What was done before the one that failed stays, and is said.
    const error = await failureOf(set('T_APPQMSG', { ...name, TA_PRIORITY: 11, TA_NEWAPPQNAME: 'Q' }));
    expect(error.text).toContain('before that TA_PRIORITY was set');
    expect((await get('T_APPQMSG', name))['TA_PRIORITY']).toEqual([11]);
    expect(await set('T_APPQMSG', { ...name, TA_NEWAPPQNAME: 'OTHER' })).toMatchObject({
      TA_ERROR: 1,
      TA_OCCURS: 0,
    });
    const moved = await get('T_APPQMSG', { TA_APPQNAME: 'OTHER' });
    const [TA_APPQMSGID = ''] = moved['TA_APPQMSGID'] as string[];
    expect(TA_APPQMSGID).not.toBe(id);
    const gone = await set('T_APPQMSG', { TA_APPQNAME: 'OTHER', TA_APPQMSGID, TA_STATE: 'INV' });
    expect(gone).toMatchObject({ TA_ERROR: 1, TA_OCCURS: 0 });
    expect((await get('T_APPQMSG', { TA_APPQNAME: 'OTHER' })).TA_OCCURS).toBe(0);
  });

  it('that a transaction holds is TAEPROTO', async () => {
    const { ctx, fault } = await setting();
    const id = await put(ctx, 'Q', 'x');
    const holder = ctx.fork();
    await holder.tpbegin(60);
    await holder.tpdequeue('ALIAS', 'Q', null, null);
    const name = { TA_APPQNAME: 'Q', TA_APPQMSGID: id };
    expect(await fault('T_APPQMSG', { ...name, TA_STATE: 'INV' })).toBe('TAEPROTO:TA_STATE');
    await holder.tpabort();
  });
});

describe('T_APPQTRANS', () => {
  it('shows transactions; one that is not prepared is not ended', async () => {
    const { ctx, get, fault } = await setting();
    const contexts = Array.from({ length: 3 }, () => ctx.fork());
    for (const one of contexts) {
      await one.tpbegin(60);
      await put(one, 'Q', 'x');
    }
    const ids = contexts.map(({ transactionId }) => transactionId ?? '').toSorted();
    const first = await get('T_APPQTRANS', { TA_OCCURS: 2, TA_STATE: 'ACT' });
    const rest = await ctx.tpadmcall({ TA_OPERATION: 'GETNEXT', TA_CURSOR: first.TA_CURSOR });
    expect([first['TA_XID'], rest['TA_XID'], rest.TA_MORE]).toEqual([ids.slice(0, 2), ids.slice(2), 0]);
    const TA_XID = ids[0];
    expect(await get('T_APPQTRANS', { TA_XID })).toMatchObject({ TA_XID: [TA_XID], TA_STATE: ['ACT'] });
    expect((await get('T_APPQTRANS', { TA_STATE: 'REA' })).TA_OCCURS).toBe(0);
    expect(await fault('T_APPQTRANS', { TA_XID, TA_STATE: 'HCO' })).toBe('TAEPROTO:TA_STATE');
    expect(await fault('T_APPQTRANS', { TA_XID })).toBe('TAEREQUIRED:TA_STATE');
    expect(await fault('T_APPQTRANS', { TA_XID: 'x', TA_STATE: 'HAB' })).toBe('TAEUNIQ:TA_XID');
    expect(await fault('T_APPQTRANS', { TA_XID, TA_STATE: 'ABO' })).toBe('TAEINVAL:TA_STATE');
    await Promise.all(contexts.map((one) => one.tpabort()));
  });
});

describe('a prepared transaction', () => {
  it('is ended heuristically by its XID, and stays listed as such', async () => {
    const { path, daemon } = await withDaemon();
    await daemon.stop();
    for (const serial of [6, 7]) await prepareOffline(join(path, 'SERVED'), 'Q', serial);
    await daemon.start();
    const ctx = await daemon.join();
    const keys = { TA_CLASS: 'T_APPQTRANS', TA_QMCONFIG: path, TA_APPQSPACENAME: 'SERVED' };
    const list = async (): Promise<unknown[]> => {
      const reply = await ctx.tpadmcall({ TA_OPERATION: 'GET', ...keys });
      return [reply['TA_XID'], reply['TA_STATE']];
    };
    const ids = ['000000000005000000000006', '000000000005000000000007'];
    expect(await list()).toEqual([ids, ['REA', 'REA']]);
    const end = (TA_XID: string, TA_STATE: string): Promise<MibReply> =>
      ctx.tpadmcall({ TA_OPERATION: 'SET', ...keys, TA_XID, TA_STATE });
    expect(await end(ids[0] ?? '', 'HCO')).toMatchObject({ TA_ERROR: 1, TA_STATE: ['HCO'] });
    expect(await end(ids[1] ?? '', 'HABORT')).toMatchObject({ TA_ERROR: 1, TA_STATE: ['HAB'] });
    expect(await list()).toEqual([ids, ['HCO', 'HAB']]);
    expect(await end(ids[0] ?? '', 'HCO')).toMatchObject({ TA_ERROR: 0 });
    expect(await faultOf(end(ids[0] ?? '', 'HAB'))).toBe('TAEPROTO:TA_STATE');
    expect((await ctx.admin('ALIAS').info('Q')).messages).toBe(1);
  });
});

describe('a request', () => {
  it('to a daemon of another machine is refused; a context that was ended is no matter of the MIB', async () => {
    const { ctx, get } = await setting();
    expect(await faultOf(get('T_APPQ', { TA_LMID: 'SITE2' }))).toBe('TAEINVAL:TA_LMID');
    expect((await get('T_APPQ', { TA_FLAGS: MIB.MIB_LOCAL })).TA_OCCURS).toBe(1);
    const other = ctx.fork();
    await other.tpterm();
    const error = await failureOf(other.tpadmcall({ TA_OPERATION: 'GET', TA_CLASS: 'T_APPQ' }));
    expect(error.tperrno).toBe(TPERRNO.TPEPROTO);
  });
});

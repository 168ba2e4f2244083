// Requests of the MIB against its rules, without a daemon: what each field may hold, what is refused with which TA_ERROR, what the daemon's
// refusals become, states, and the values' own words.
import { describe, expect, it } from 'vitest';
import { MIB, TAERROR, taErrorName, TpError, TPERRNO, QME } from '../../clients/typescript/index.ts';
import { type Asked, askedOf, type MibRequest } from '../../clients/typescript/mib/asked.ts';
import { MibError, stateOf } from '../../clients/typescript/mib/attribute.ts';
import { CLASSES, type MibReply, tpadmcall } from '../../clients/typescript/mib/tpadmcall.ts';
import {
  corridIn,
  corridOut,
  expiryIn,
  memoryIn,
  momentIn,
  orderIn,
  orderOut,
} from '../../clients/typescript/mib/words.ts';
import { ADMIN, OP } from '../../proto/codes.ts';
import type { Admin, AdminReply, Members } from '../../proto/message.ts';
import { momentDigits } from '../../proto/moment.ts';

const KEYS = { TA_QMCONFIG: '/dev', TA_APPQSPACENAME: 'S' };
const GET = { TA_OPERATION: 'GET', TA_CLASS: 'T_APPQ', ...KEYS };
const SET = { ...GET, TA_OPERATION: 'SET', TA_APPQNAME: 'Q' };
const MSG = { ...GET, TA_CLASS: 'T_APPQMSG', TA_APPQNAME: 'Q' };
const SPACE = { ...SET, TA_CLASS: 'T_APPQSPACE', TA_APPQNAME: undefined };
const NUMBERS = {
  TA_IPCKEY: 40_000,
  TA_MAXMSG: 5,
  TA_MAXPAGES: 10,
  TA_MAXPROC: 1,
  TA_MAXQUEUES: 2,
  TA_MAXTRANS: 3,
};
const RAISED = MIB.QMIB_FORCEPURGE | MIB.QMIB_FORCEDELETE;

function faultOf(work: () => unknown): string {
  try {
    work();
    return 'OK';
  } catch (error) {
    if (!(error instanceof MibError)) throw error;
    expect(error.message).not.toBe('');
    return `${taErrorName(error.code)}:${error.field}`;
  }
}

const cursorOf = (held: unknown): string => Buffer.from(JSON.stringify(held)).toString('base64url');

describe('a request', () => {
  it.each<[MibRequest, string]>([
    [GET, 'OK'],
    [SET, 'OK'],
    [MSG, 'OK'],
    [{ ...GET, TA_STATE: undefined }, 'OK'],
    [{ ...GET, TA_APPQNAME: ['Q'] }, 'OK'],
    [{ ...SET, TA_MAXRETRIES: ' +7 ' }, 'OK'],
    [{ ...SET, TA_CMD: 17 }, 'OK'],
    [{ ...SPACE, TA_STATE: 'NEW', ...NUMBERS }, 'OK'],
    [{}, 'TAEREQUIRED:TA_OPERATION'],
    [{ TA_OPERATION: 'GET' }, 'TAEREQUIRED:TA_CLASS'],
    [{ ...GET, TA_OPERATION: 'PUT' }, 'TAEINVAL:TA_OPERATION'],
    [{ ...GET, TA_CLASS: 'T_DOMAIN' }, 'TAESUPPORT:TA_CLASS'],
    [{ ...GET, TA_CLASS: 'toString' }, 'TAESUPPORT:TA_CLASS'],
    [{ ...GET, TA_FILTER: 1 }, 'TAESUPPORT:TA_FILTER'],
    [{ ...GET, TA_OTHER: 1 }, 'TAEINVAL:TA_OTHER'],
    [{ ...GET, toString: 1 }, 'TAEINVAL:toString'],
    [{ ...GET, TA_APPQNAME: ['A', 'B'] }, 'TAEINVAL:TA_APPQNAME'],
    [{ ...GET, TA_QMCONFIG: undefined }, 'TAEREQUIRED:TA_QMCONFIG'],
    [{ ...GET, TA_APPQSPACENAME: undefined }, 'TAEREQUIRED:TA_APPQSPACENAME'],
    [{ ...SET, TA_APPQNAME: undefined }, 'TAEREQUIRED:TA_APPQNAME'],
    [{ ...MSG, TA_APPQNAME: undefined }, 'TAEREQUIRED:TA_APPQNAME'],
    [{ ...MSG, TA_OPERATION: 'SET' }, 'TAEREQUIRED:TA_APPQMSGID'],
    [{ ...SPACE, TA_STATE: 'NEW', ...NUMBERS, TA_MAXPROC: undefined }, 'TAEREQUIRED:TA_MAXPROC'],
    [{ ...GET, TA_CMD: 'x' }, 'TAEINVAL:TA_CMD'],
    [{ ...GET, TA_CURMSG: 1 }, 'TAEINVAL:TA_CURMSG'],
    [{ ...SET, TA_CURMSG: 1 }, 'TAEPERM:TA_CURMSG'],
    [{ ...SET, TA_MAXRETRIES: -1 }, 'TAEINVAL:TA_MAXRETRIES'],
    [{ ...SET, TA_MAXRETRIES: 2_147_483_648 }, 'TAEINVAL:TA_MAXRETRIES'],
    [{ ...SET, TA_MAXRETRIES: 1.5 }, 'TAEINVAL:TA_MAXRETRIES'],
    [{ ...SET, TA_MAXRETRIES: '7x' }, 'TAEINVAL:TA_MAXRETRIES'],
    [{ ...SET, TA_MAXRETRIES: '' }, 'TAEINVAL:TA_MAXRETRIES'],
    [{ ...SET, TA_DEFDELIVERYPOLICY: 'DISK' }, 'TAEINVAL:TA_DEFDELIVERYPOLICY'],
    [{ ...SET, TA_CMD: 'x'.repeat(128) }, 'TAEINVAL:TA_CMD'],
    [{ ...SET, TA_CMD: 'a\0b' }, 'TAEINVAL:TA_CMD'],
    [{ ...SPACE, TA_APPQSPACENAME: 'A234567890123456' }, 'TAEINVAL:TA_APPQSPACENAME'],
    [{ ...SPACE, TA_STATE: 'NEW', ...NUMBERS, TA_FORCEINIT: 'X' }, 'TAEINVAL:TA_FORCEINIT'],
    [{ ...SPACE, TA_STATE: 'OPE', TA_IPCKEY: 40_000 }, 'TAEINVAL:TA_IPCKEY'],
    [{ ...SET, TA_STATE: 'INV', TA_CMD: 'x' }, 'TAEINVAL:TA_CMD'],
    [{ ...SET, TA_STATE: 'VAL' }, 'TAEINVAL:TA_STATE'],
    [{ ...GET, TA_STATE: 'NEW' }, 'TAEINVAL:TA_STATE'],
    [{ ...MSG, TA_PRIORITY: 5 }, 'TAEINVAL:TA_PRIORITY'],
    [{ ...MSG, TA_LOWPRIORITY: 0 }, 'TAEINVAL:TA_LOWPRIORITY'],
    [{ ...GET, TA_OCCURS: 0 }, 'TAEINVAL:TA_OCCURS'],
    [{ ...GET, TA_OCCURS: 1001 }, 'TAEINVAL:TA_OCCURS'],
    [{ ...SET, TA_OCCURS: 2 }, 'TAEINVAL:TA_OCCURS'],
    [{ ...SET, TA_OCCURS: 1 }, 'OK'],
    [{ ...GET, TA_CURSOR: 'x' }, 'TAEINVAL:TA_CURSOR'],
  ])('%o: %s', (request, fault) => {
    expect(faultOf(() => askedOf(request, CLASSES))).toBe(fault);
  });

  it.each<[MibRequest, number, string]>([
    [GET, MIB.MIB_LOCAL, 'OK'],
    [SET, MIB.MIB_LOCAL, 'OK'],
    [GET, MIB.MIB_PREIMAGE, 'TAESUPPORT:TA_FLAGS'],
    [SET, MIB.MIB_PREIMAGE, 'TAESUPPORT:TA_FLAGS'],
    [GET, MIB.MIB_SELF, 'TAESUPPORT:TA_FLAGS'],
    [GET, MIB.QMIB_FORCECLOSE, 'TAEINVAL:TA_FLAGS'],
    [SET, RAISED, 'TAEINVAL:TA_FLAGS'],
    [{ ...SET, TA_STATE: 'NEW' }, MIB.QMIB_FORCEPURGE, 'TAEINVAL:TA_FLAGS'],
    [{ ...SET, TA_STATE: 'INV' }, RAISED, 'OK'],
    [{ ...SET, TA_STATE: 'INV' }, MIB.QMIB_FORCECLOSE, 'TAEINVAL:TA_FLAGS'],
    [{ ...SPACE, TA_STATE: 'CLE' }, MIB.QMIB_FORCECLOSE, 'OK'],
    [{ ...SPACE, TA_STATE: 'OPE' }, MIB.QMIB_FORCECLOSE, 'TAEINVAL:TA_FLAGS'],
    [{ ...SPACE, TA_STATE: 'INV' }, MIB.QMIB_FORCEDELETE, 'OK'],
    [{ ...SPACE, TA_STATE: 'INV' }, MIB.QMIB_FORCEPURGE, 'TAEINVAL:TA_FLAGS'],
    [GET, 0x40, 'TAEINVAL:TA_FLAGS'],
    [GET, -1, 'TAEINVAL:TA_FLAGS'],
  ])('%o with the flags %i: %s', (request, TA_FLAGS, fault) => {
    expect(faultOf(() => askedOf({ ...request, TA_FLAGS }, CLASSES))).toBe(fault);
  });
});

describe('a cursor', () => {
  const asked: Asked = askedOf({ ...MSG, TA_STATE: 'VALID', TA_LOWPRIORITY: '7', TA_OCCURS: 3 }, CLASSES);
  const TA_CURSOR = asked.cursor('here');
  const NEXT = { TA_OPERATION: 'GETNEXT', TA_CURSOR };

  it('goes on with all that the GET selected by', () => {
    const next = askedOf({ ...NEXT, TA_CLASS: 'T_APPQMSG', TA_OCCURS: 9 }, CLASSES);
    expect(next).toMatchObject({ isSet: false, state: 'VAL', at: 'here', limit: 9, given: asked.given });
    expect(next.class.name).toBe('T_APPQMSG');
  });

  it.each<[MibRequest, string]>([
    [{ TA_OPERATION: 'GETNEXT' }, 'TAEREQUIRED:TA_CURSOR'],
    [{ ...NEXT, TA_CLASS: 'T_APPQ' }, 'TAEINVAL:TA_CLASS'],
    [{ ...NEXT, TA_APPQNAME: 'Q' }, 'TAEINVAL:TA_APPQNAME'],
    [{ ...NEXT, TA_STATE: 'VAL' }, 'TAEINVAL:TA_STATE'],
    [{ ...NEXT, TA_CURSOR: 'rubbish' }, 'TAEINVAL:TA_CURSOR'],
    [{ ...NEXT, TA_CURSOR: cursorOf(null) }, 'TAEINVAL:TA_CURSOR'],
    [{ ...NEXT, TA_CURSOR: cursorOf({ class: 'T_APPQ', at: '', given: {} }) }, 'TAEINVAL:TA_CURSOR'],
    [{ ...NEXT, TA_CURSOR: cursorOf({ class: 'T_APPQ', at: 'x', given: [] }) }, 'TAEINVAL:TA_CURSOR'],
    [{ ...NEXT, TA_CURSOR: cursorOf({ class: 'T_X', at: 'x', given: {} }) }, 'TAESUPPORT:TA_CLASS'],
    [
      { ...NEXT, TA_CURSOR: cursorOf({ class: 'T_APPQ', at: 'x', given: {} }) },
      'TAEREQUIRED:TA_APPQSPACENAME',
    ],
  ])('%o: %s', (request, fault) => {
    expect(faultOf(() => askedOf(request, CLASSES))).toBe(fault);
  });
});

describe('a state', () => {
  const states = CLASSES['T_APPQTRANS']?.getStates ?? {};
  it.each([
    ['ACT', 'ACT'],
    ['active', 'ACT'],
    ['Acti', 'ACT'],
    ['ABORTONLY', 'ABY'],
    ['aby', 'ABY'],
    ['ABORTE', 'ABD'],
    ['HAB', 'HAB'],
  ])('%s is %s', (given, state) => expect(stateOf(states, given)).toBe(state));
  it.each(['AC', 'ABO', 'ACTIVELY', '', 'toString'])('%s is none', (given) => {
    expect(faultOf(() => stateOf(states, given))).toBe('TAEINVAL:TA_STATE');
  });
});

const refusing =
  (init: { tperrno: number; diagnostic?: number }) => async (operation: string, request: Admin) => {
    if (request.verb === ADMIN.SRVLIST) return answer({ lmid: 'L' });
    throw new TpError({ ...init, operation, text: 'why' });
  };
const diagnostic = (code: number): { tperrno: number; diagnostic: number } => ({
  tperrno: TPERRNO.TPEDIAGNOSTIC,
  diagnostic: code,
});

const nonsense = async (_: string, { verb }: Admin): Promise<AdminReply> =>
  answer(verb === ADMIN.SRVLIST ? { lmid: 'L' } : { qspace: 5 });

describe('what the daemon refuses', () => {
  it.each<[{ tperrno: number; diagnostic?: number }, string]>([
    [{ tperrno: TPERRNO.TPEPERM }, 'TAEPERM'],
    [{ tperrno: TPERRNO.TPEINVAL }, 'TAEINVAL'],
    [{ tperrno: TPERRNO.TPEMATCH }, 'TAEPROTO'],
    [diagnostic(QME.QMEINVAL), 'TAEINVAL'],
    [diagnostic(QME.QMESHARE), 'TAEPROTO'],
    [diagnostic(QME.QMEINUSE), 'TAEPROTO'],
    [diagnostic(QME.QMEOS), 'TAEOS'],
    [diagnostic(QME.QMESYSTEM), 'TAESYSTEM'],
    [diagnostic(QME.QMENOSPACE), 'TAESYSTEM'],
  ])('as %o is %s', async (init, name) => {
    const error = await tpadmcall(refusing(init), GET).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ tperrno: TPERRNO.TPEMIB, text: `${name}: why`, operation: 'tpadmcall' });
    const reply = TpError.is(error) ? (error.reply?.data as MibReply) : null;
    expect(taErrorName(reply?.TA_ERROR ?? 0)).toBe(name);
  });

  it('but a lost connection is that', async () => {
    const lost = tpadmcall(refusing({ tperrno: TPERRNO.TPESYSTEM }), GET);
    await expect(lost).rejects.toMatchObject({ tperrno: TPERRNO.TPESYSTEM, text: 'why' });
  });

  it('and an answer that is none is TPESYSTEM', async () => {
    await expect(tpadmcall(nonsense, GET)).rejects.toMatchObject({ tperrno: TPERRNO.TPESYSTEM });
  });
});

function answer(members: Members): AdminReply {
  return { op: OP.ADMIN, id: 0, members, items: [] };
}

describe('words', () => {
  it('of memory', () => {
    expect(['7b', '7B', '7', '0'].map((one) => memoryIn('F', one))).toEqual([7, 3584, 3584, 0]);
    for (const wrong of ['', 'b', '7k', '-1', '1e3'])
      expect(faultOf(() => memoryIn('F', wrong))).toBe('TAEINVAL:F');
  });
  it('of orders', () => {
    expect(orderIn('PRIO, Expir,LIFO')).toBe('priority,expiration,lifo');
    expect(orderOut('priority,time,expiration,fifo')).toBe('PRIO,TIME,EXPIR,FIFO');
  });
  it('of moments', () => {
    expect(momentIn('F', '+60')).toBe('+60');
    const seconds = Number(momentIn('F', '260203040506'));
    expect(momentDigits(seconds * 1000)).toBe('260203040506');
    expect(momentDigits(new Date(2038, 0, 2, 3, 4, 5).getTime())).toBe('20380102030405');
    for (const wrong of ['', '38', '2602300405', '1', '+', '-5'])
      expect(faultOf(() => momentIn('F', wrong))).toBe('TAEINVAL:F');
    expect(['', 'none', '+0'].map((one) => expiryIn('F', one))).toEqual(['none', 'none', '+0']);
  });
  it('of corrids, both ways', () => {
    const full = 'x'.repeat(32);
    for (const text of ['c', 'größe', full]) expect(corridOut(corridIn('F', text))).toBe(text);
    for (const hex of ['fe'.repeat(32), '00'.repeat(32), `6100${'62'.repeat(30)}`]) {
      expect(corridOut(hex)).toBe(hex);
      expect(corridIn('F', hex)).toBe(hex);
    }
    expect(corridOut('')).toBe('');
    for (const wrong of ['', 'x'.repeat(33)]) expect(faultOf(() => corridIn('F', wrong))).toBe('TAEINVAL:F');
  });
});

it('the numbers are those of the public field tables', () => {
  expect(Object.values(TAERROR)).toEqual([0, 1, 2, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11]);
});

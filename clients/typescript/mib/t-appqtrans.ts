// T_APPQTRANS: transactions with work in a space, and their heuristic ends [spec 7.4].
import type { TransactionInfo } from '../../../proto/message-admin.ts';
import { TPERRNO } from '../../../proto/codes.ts';
import { TpError } from '../error.ts';
import { type Attributes, MibError, type Row } from './attribute.ts';
import type { Asked, MibClass } from './asked.ts';
import { TAERROR } from './codes.ts';
import type { OpenSpace, Reach } from './reach.ts';
import { SPACE_KEYS, spaceOf, spaceRow } from './t-appq.ts';

const attributes: Attributes = {
  TA_XID: { type: 'string', perms: 'r', key: true, names: true, needed: 'set', min: 1, max: 64 },
  ...SPACE_KEYS,
};
const HEURISTIC = { HAB: 'HABORT', HCO: 'HCOMMIT' };
const STATES: Readonly<Record<TransactionInfo['state'], string>> = {
  ACTIVE: 'ACT',
  READY: 'REA',
  DECIDED: 'DEC',
  HCOMMIT: 'HCO',
  HABORT: 'HAB',
};

export const tAppqtrans: MibClass = {
  name: 'T_APPQTRANS',
  attributes,
  getStates: {
    ACT: 'ACTIVE',
    ABY: 'ABORTONLY',
    ABD: 'ABORTED',
    COM: 'COMCALLED',
    REA: 'READY',
    DEC: 'DECIDED',
    ...HEURISTIC,
  },
  setStates: HEURISTIC,
  flags: {},
  async get(asked, reach) {
    const all = await transactionsOf(await spaceOf(asked, reach));
    const rows = all
      .filter(({ transaction }) => transaction > asked.at)
      .filter(({ transaction }) => !asked.has('TA_XID') || asked.text('TA_XID') === transaction)
      .map((info) => rowOf(info, { asked, reach }))
      .filter((row) => asked.state === '' || asked.state === row['TA_STATE']);
    const page = rows.slice(0, asked.limit);
    const last = String(page.at(-1)?.['TA_XID'] ?? '');
    return { rows: page, next: rows.length > page.length ? last : null };
  },
  async set(asked, reach) {
    const { state } = asked;
    if (state === '')
      throw new MibError(TAERROR.TAEREQUIRED, 'TA_STATE is not given: HAB or HCO', { field: 'TA_STATE' });
    const space = await spaceOf(asked, reach);
    const xid = asked.text('TA_XID');
    const info = (await transactionsOf(space)).find(({ transaction }) => transaction === xid);
    if (info === undefined)
      throw new MibError(TAERROR.TAEUNIQ, `there is no transaction ${xid}`, { field: 'TA_XID' });
    const rows = [{ ...rowOf(info, { asked, reach }), TA_STATE: state }];
    if (STATES[info.state] === state)
      return { changed: false, status: 'an administrator has ended it so already', rows };
    if (info.state !== 'READY' && info.state !== 'DECIDED') {
      const text = `transaction ${xid} is ${info.state}: only one that is READY is ended so`;
      throw new MibError(TAERROR.TAEPROTO, text, { field: 'TA_STATE' });
    }
    await end(space, info.index, state === 'HCO');
    const status = `the transaction's part in this space was ${state === 'HCO' ? 'committed' : 'rolled back'}`;
    return { changed: true, status, rows };
  },
};

/** In the order of their ids; also those that an administrator has ended. */
async function transactionsOf({ admin }: OpenSpace): Promise<TransactionInfo[]> {
  const found: TransactionInfo[] = [];
  for await (const info of admin.transactions({ decided: true })) found.push(info);
  return found.toSorted((a, b) => (a.transaction < b.transaction ? -1 : 1));
}

async function end({ admin }: OpenSpace, index: number, commit: boolean): Promise<void> {
  try {
    await admin.endTransaction(index, commit);
  } catch (error) {
    // It has ended meanwhile, or is decided.
    const isLate = error instanceof MibError && error.isAbsent;
    const isDecided = TpError.is(error) && error.tperrno === TPERRNO.TPEPROTO;
    if (!isLate && !isDecided) throw error;
    const text = isDecided ? error.text : error.message;
    throw new MibError(TAERROR.TAEPROTO, text, { field: 'TA_STATE', cause: error });
  }
}

function rowOf(info: TransactionInfo, { asked, reach }: { asked: Asked; reach: Reach }): Row {
  return { TA_XID: info.transaction, ...spaceRow(asked, reach), TA_STATE: STATES[info.state] };
}

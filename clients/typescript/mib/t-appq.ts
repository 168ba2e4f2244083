// T_APPQ: the queues of a space [spec 7.2]. Every request opens the space when it is closed.
import type { QueueInfo } from '../../../proto/admin.ts';
import { ADMIN } from '../../../proto/codes.ts';
import type { QueueOptions } from '../admin.ts';
import { type Attribute, type Attributes, DEVICE_KEY, LMID_KEY, MibError, type Row } from './attribute.ts';
import type { Asked, Done, MibClass } from './asked.ts';
import { MIB, TAERROR } from './codes.ts';
import { orAbsent, type OpenSpace, type Reach, renaming } from './reach.ts';
import { defaultExpiryIn, defaultExpiryOut, orderIn, orderOut, outOfOrderIn } from './words.ts';

const NUMBER: Attribute = { type: 'long', perms: 'rw' };
const READ: Attribute = { type: 'long', perms: 'r' };
const COMMAND: Attribute = { type: 'string', perms: 'rw', max: 127 };
const LEVEL: Attribute = { type: 'string', perms: 'rw', min: 1, max: 16 };

/** Which space is meant: of the classes below T_APPQSPACE. */
export const SPACE_KEYS: Attributes = {
  TA_APPQSPACENAME: {
    type: 'string',
    perms: 'ru',
    key: true,
    names: true,
    needed: 'always',
    min: 1,
    max: 15,
  },
  TA_QMCONFIG: DEVICE_KEY,
  TA_LMID: LMID_KEY,
};

const attributes: Attributes = {
  TA_APPQNAME: { type: 'string', perms: 'ru', key: true, names: true, needed: 'set', min: 1, max: 127 },
  ...SPACE_KEYS,
  TA_APPQORDER: { type: 'string', perms: 'ru', min: 1, max: 64 },
  TA_DEFEXPIRATIONTIME: { type: 'string', perms: 'rw', min: 1, max: 16 },
  TA_DEFDELIVERYPOLICY: { type: 'string', perms: 'rw', words: ['PERSIST', 'NONPERSIST'] },
  TA_CMD: COMMAND,
  TA_CMDHW: LEVEL,
  TA_CMDLW: LEVEL,
  TA_CMDNONPERSIST: COMMAND,
  TA_CMDNONPERSISTHW: LEVEL,
  TA_CMDNONPERSISTLW: LEVEL,
  TA_MAXRETRIES: NUMBER,
  TA_OUTOFORDER: { type: 'string', perms: 'rw', words: ['NONE', 'TOP', 'MSGID', 'TOP,MSGID', 'MSGID,TOP'] },
  TA_RETRYDELAY: NUMBER,
  TA_CURBLOCKS: READ,
  TA_CURMSG: READ,
  TA_CURNONPERSISTBYTES: READ,
  TA_CURNONPERSISTMSG: READ,
};

export const tAppq: MibClass = {
  name: 'T_APPQ',
  attributes,
  getStates: { VAL: 'VALID' },
  setStates: { NEW: 'NEW', INV: 'INVALID' },
  flags: { INV: MIB.QMIB_FORCEPURGE | MIB.QMIB_FORCEDELETE },
  async get(asked, reach) {
    const { admin } = await spaceOf(asked, reach);
    if (asked.has('TA_APPQNAME')) {
      const info = await orAbsent(admin.info(asked.text('TA_APPQNAME')));
      return { rows: info === null ? [] : [rowOf(info, { asked, reach })], next: null };
    }
    const rows: Row[] = [];
    let after = asked.at;
    for (let more = true; more && rows.length < asked.limit;) {
      const page = await admin.list({ after, limit: asked.limit - rows.length });
      rows.push(...page.queues.map((info) => rowOf(info, { asked, reach })));
      after = page.queues.at(-1)?.name ?? '';
      more = page.more && after !== '';
      if (!more) after = '';
    }
    return { rows, next: after === '' ? null : after };
  },
  async set(asked, reach) {
    const space = await spaceOf(asked, reach);
    const name = asked.text('TA_APPQNAME');
    const before = await orAbsent(space.admin.info(name));
    if (asked.state === 'NEW') {
      if (before !== null)
        throw new MibError(TAERROR.TAEPROTO, `queue ${name} exists already`, { field: 'TA_STATE' });
      const info = await renaming(space.admin.create(name, optionsIn(asked)), FIELDS);
      return { changed: true, status: 'the queue was created', rows: [rowOf(info, { asked, reach })] };
    }
    if (before === null) throw absent(asked);
    if (asked.state === 'INV') return destroy(asked, space);
    const info = await change(asked, { space, before });
    const changed = info !== before;
    const status = changed ? 'the queue was changed' : 'the queue has these values already';
    return { changed, status, rows: [rowOf(info, { asked, reach })] };
  },
};

/** Opens it. A SET whose keys name no space names no object. */
export async function spaceOf(asked: Asked, reach: Reach): Promise<OpenSpace> {
  const [device, name] = [asked.text('TA_QMCONFIG'), asked.text('TA_APPQSPACENAME')];
  try {
    return await reach.opened(device, name);
  } catch (error) {
    if (!(error instanceof MibError) || !error.isAbsent) throw error;
    // It throws when there is no such device.
    await reach.rows(ADMIN.QSPACELIST, device);
    const code = asked.isSet ? TAERROR.TAEUNIQ : TAERROR.TAEINVAL;
    throw new MibError(code, error.message, { field: 'TA_APPQSPACENAME', cause: error });
  }
}

/** Which object a SET was about, when there is none. */
export function absent(asked: Asked): MibError {
  const space = asked.text('TA_APPQSPACENAME');
  const text = `there is no queue ${asked.text('TA_APPQNAME')} in queue space ${space}`;
  return new MibError(TAERROR.TAEUNIQ, text, { field: 'TA_APPQNAME' });
}

export function spaceRow(asked: Asked, { lmid }: Reach): Row {
  return {
    TA_APPQSPACENAME: asked.text('TA_APPQSPACENAME'),
    TA_QMCONFIG: asked.text('TA_QMCONFIG'),
    TA_LMID: lmid,
  };
}

/** What is set and shown as it is. */
const PLAIN = {
  TA_CMD: 'cmd',
  TA_CMDHW: 'high',
  TA_CMDLW: 'low',
  TA_CMDNONPERSIST: 'nonPersistentCmd',
  TA_CMDNONPERSISTHW: 'nonPersistentHigh',
  TA_CMDNONPERSISTLW: 'nonPersistentLow',
  TA_MAXRETRIES: 'retries',
  TA_RETRYDELAY: 'delayS',
} as const;

function rowOf(info: QueueInfo, { asked, reach }: { asked: Asked; reach: Reach }): Row {
  return {
    TA_APPQNAME: info.name,
    ...spaceRow(asked, reach),
    TA_STATE: 'VAL',
    TA_APPQORDER: orderOut(info.order),
    TA_DEFEXPIRATIONTIME: defaultExpiryOut(info.expiryS),
    TA_DEFDELIVERYPOLICY: info.policy.toUpperCase(),
    ...Object.fromEntries(Object.entries(PLAIN).map(([field, member]) => [field, info[member]])),
    TA_OUTOFORDER: info.outOfOrder.toUpperCase(),
    TA_CURBLOCKS: info.pages,
    TA_CURMSG: info.persistentMessages,
    TA_CURNONPERSISTBYTES: info.nonPersistentBytes,
    TA_CURNONPERSISTMSG: info.nonPersistentMessages,
  };
}

function optionsIn(asked: Asked): QueueOptions {
  const { given } = asked;
  const plain = Object.entries(PLAIN).flatMap(([field, member]) => {
    const value = given[field];
    return value === undefined ? [] : [[member, value] as const];
  });
  const policy = asked.text('TA_DEFDELIVERYPOLICY') === 'NONPERSIST' ? 'nonpersist' : 'persist';
  return {
    ...(Object.fromEntries(plain) as QueueOptions),
    ...(asked.has('TA_APPQORDER') ? { order: orderIn(asked.text('TA_APPQORDER')) } : {}),
    ...(asked.has('TA_DEFDELIVERYPOLICY') ? { policy } : {}),
    ...(asked.has('TA_OUTOFORDER') ? { outOfOrder: outOfOrderIn(asked.text('TA_OUTOFORDER')) } : {}),
    ...(asked.has('TA_DEFEXPIRATIONTIME')
      ? { expiryS: defaultExpiryIn('TA_DEFEXPIRATIONTIME', asked.text('TA_DEFEXPIRATIONTIME')) }
      : {}),
  };
}

/** The same object as before when nothing is to be another. */
async function change(
  asked: Asked,
  { space, before }: { space: OpenSpace; before: QueueInfo },
): Promise<QueueInfo> {
  const { order, ...options } = optionsIn(asked);
  if (order !== undefined && order !== before.order && `${order},fifo` !== before.order) {
    const text = 'TA_APPQORDER is fixed when the queue is made';
    throw new MibError(TAERROR.TAEPERM, text, { field: 'TA_APPQORDER' });
  }
  const now: Readonly<Record<string, unknown>> = { ...before };
  const others = Object.entries(options).filter(([member, value]) => now[member] !== value);
  if (others.length === 0) return before;
  return renaming(space.admin.change(before.name, Object.fromEntries(others) as QueueOptions), FIELDS);
}

/** The daemon never takes messages from an open transaction. */
async function destroy(asked: Asked, { admin }: OpenSpace): Promise<Done> {
  const purge = asked.forced(MIB.QMIB_FORCEPURGE | MIB.QMIB_FORCEDELETE);
  const count = await admin.destroy(asked.text('TA_APPQNAME'), { purge });
  return { changed: true, status: `the queue was destroyed with ${count} messages`, rows: [] };
}

const FIELDS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(PLAIN).map(([field, member]) => [member, field])),
  order: 'TA_APPQORDER',
  outOfOrder: 'TA_OUTOFORDER',
  expiryS: 'TA_DEFEXPIRATIONTIME',
};

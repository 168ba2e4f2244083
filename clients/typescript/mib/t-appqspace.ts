// T_APPQSPACE: the queue spaces of a device [spec 7.1]. GET looks and opens nothing; what is in use of a space that is closed reads as -1.
import {
  isSpaceSettings,
  isSpaceUse,
  type SpaceInfo,
  type SpaceSettings,
  type SpaceUseInfo,
} from '../../../proto/admin.ts';
import { ADMIN } from '../../../proto/codes.ts';
import type { MemberValue } from '../../../proto/message.ts';
import {
  type Attribute,
  type Attributes,
  DEVICE_KEY,
  LMID_KEY,
  MibError,
  type MibValue,
  type Row,
} from './attribute.ts';
import type { Asked, Done, MibClass } from './asked.ts';
import { MIB, TAERROR } from './codes.ts';
import { orAbsent, type Reach, renaming, unexpected } from './reach.ts';
import { memoryIn } from './words.ts';

const LIMIT: Attribute = { type: 'long', perms: 'rw' };
const CREATED: Attribute = { ...LIMIT, needed: 'new' };
const READ: Attribute = { type: 'long', perms: 'r' };
/** The resources of which a use and a high-water mark are shown. */
const RESOURCES = [
  'ACTIONS',
  'HANDLES',
  'CURSORS',
  'OWNERS',
  'TMPQUEUES',
  'MEMNONPERSIST',
  'MEMFILTERS',
  'MEMOVERFLOW',
];
const USED = ['MSG', 'PROC', 'QUEUES', 'TRANS', ...RESOURCES];

const attributes: Attributes = {
  TA_APPQSPACENAME: { type: 'string', perms: 'ru', key: true, names: true, needed: 'set', min: 1, max: 15 },
  TA_QMCONFIG: DEVICE_KEY,
  TA_LMID: LMID_KEY,
  TA_BLOCKING: LIMIT,
  TA_ERRORQNAME: { type: 'string', perms: 'rw', max: 15 },
  TA_FORCEINIT: { type: 'string', perms: 'ru', words: ['Y', 'N'] },
  TA_IPCKEY: { ...CREATED, min: 1, max: 262_143 },
  TA_MAXMSG: CREATED,
  TA_MAXPAGES: CREATED,
  TA_MAXPROC: CREATED,
  TA_MAXQUEUES: { ...CREATED, perms: 'ru' },
  TA_MAXTRANS: CREATED,
  TA_MAXACTIONS: LIMIT,
  TA_MAXHANDLES: LIMIT,
  TA_MAXOWNERS: LIMIT,
  TA_MAXTMPQUEUES: LIMIT,
  TA_MAXCURSORS: LIMIT,
  TA_MEMNONPERSIST: { type: 'string', perms: 'rw', min: 1, max: 16 },
  TA_MEMFILTERS: LIMIT,
  TA_MEMOVERFLOW: LIMIT,
  TA_MEMSYSTEMRESERVED: READ,
  TA_MEMTOTALALLOCATED: READ,
  TA_CUREXTENT: READ,
  ...Object.fromEntries(USED.map((what) => [`TA_CUR${what}`, READ])),
  ...Object.fromEntries(USED.map((what) => [`TA_HW${what}`, READ])),
  TA_PERCENTINIT: READ,
};

/** What is set and shown as it is, by the names that ADMIN has. */
const PLAIN: Readonly<Record<string, keyof SpaceSettings>> = {
  TA_BLOCKING: 'blocking',
  TA_ERRORQNAME: 'errorQueue',
  TA_IPCKEY: 'ipcKey',
  TA_MAXMSG: 'messages',
  TA_MAXPAGES: 'pages',
  TA_MAXPROC: 'processes',
  TA_MAXQUEUES: 'queues',
  TA_MAXTRANS: 'transactions',
  TA_MAXACTIONS: 'actions',
  TA_MAXHANDLES: 'handles',
  TA_MAXOWNERS: 'owners',
  TA_MAXTMPQUEUES: 'temporaryQueues',
  TA_MAXCURSORS: 'cursors',
  TA_MEMFILTERS: 'filterBytes',
  TA_MEMOVERFLOW: 'overflowBytes',
};
const FIELDS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(PLAIN).map(([field, member]) => [member, field])),
  nonPersistentBytes: 'TA_MEMNONPERSIST',
};
const STATES: Readonly<Record<SpaceUseInfo['state'], string>> = { closed: 'INA', open: 'OPE', served: 'ACT' };
/** A number that nobody knows. */
const UNKNOWN = -1;
/** Attributes that always read as -1. */
export const NOT_COUNTED: readonly string[] = [
  'TA_MEMSYSTEMRESERVED',
  'TA_MEMTOTALALLOCATED',
  'TA_CURPROC',
  'TA_CURACTIONS',
  ...['MSG', 'PROC', 'QUEUES', 'TRANS', 'ACTIONS', 'MEMNONPERSIST'].map((what) => `TA_HW${what}`),
];

export const tAppqspace: MibClass = {
  name: 'T_APPQSPACE',
  attributes,
  getStates: { INA: 'INACTIVE', INI: 'INITIALIZING', OPE: 'OPEN', ACT: 'ACTIVE' },
  setStates: { NEW: 'NEW', OPE: 'OPEN', CLE: 'CLEANING', INV: 'INVALID' },
  flags: { CLE: MIB.QMIB_FORCECLOSE, INV: MIB.QMIB_FORCEDELETE },
  async get(asked, reach) {
    const uses = (await usesOf(asked, reach)).filter(({ name, state }) => {
      const isNamed = !asked.has('TA_APPQSPACENAME') || asked.text('TA_APPQSPACENAME') === name;
      return isNamed && name > asked.at && (asked.state === '' || asked.state === STATES[state]);
    });
    const page = uses.slice(0, asked.limit);
    const rows = await rowsOf(asked, { reach, uses: page });
    return { rows, next: uses.length > page.length ? (page.at(-1)?.name ?? null) : null };
  },
  async set(asked, reach) {
    const name = asked.text('TA_APPQSPACENAME');
    const use = (await usesOf(asked, reach)).find((one) => one.name === name);
    if (asked.state === 'NEW') {
      if (use === undefined) return create(asked, reach);
      throw new MibError(TAERROR.TAEPROTO, `queue space ${name} exists already`, { field: 'TA_STATE' });
    }
    if (use === undefined) {
      const text = `there is no queue space ${name} on device ${asked.text('TA_QMCONFIG')}`;
      throw new MibError(TAERROR.TAEUNIQ, text, { field: 'TA_APPQSPACENAME' });
    }
    const { changed, status } = await perform(asked, { reach, use });
    const after = (await usesOf(asked, reach)).filter((one) => one.name === name);
    return { changed, status, rows: await rowsOf(asked, { reach, uses: after }) };
  },
};

/** In the order of their names. */
async function usesOf(asked: Asked, reach: Reach): Promise<SpaceUseInfo[]> {
  const items = await reach.rows(ADMIN.QSPACELIST, asked.text('TA_QMCONFIG'));
  const uses = items.map((item) => {
    if (isSpaceUse(item)) return item;
    throw unexpected();
  });
  return uses.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

interface Spaces {
  readonly reach: Reach;
  readonly uses: readonly SpaceUseInfo[];
}

async function rowsOf(asked: Asked, { reach, uses }: Spaces): Promise<Row[]> {
  if (uses.length === 0) return [];
  const device = asked.text('TA_QMCONFIG');
  const extents = await reach.rows(ADMIN.DEVLIST, device);
  const rows: Row[] = [];
  for (const use of uses) {
    const { name, state } = use;
    // It may be removed or closed while this goes on.
    const settings = await orAbsent(settingsOf(reach, { device, name }));
    if (settings === null) continue;
    const info = state === 'closed' ? null : await orAbsent(reach.space(device, name).admin.space());
    const isOpen = info !== null;
    rows.push({
      TA_APPQSPACENAME: name,
      TA_QMCONFIG: device,
      TA_LMID: reach.lmid,
      TA_STATE: isOpen ? STATES[state] : STATES.closed,
      ...Object.fromEntries(Object.entries(PLAIN).map(([field, member]) => [field, settings[member]])),
      TA_FORCEINIT: 'Y',
      TA_MEMNONPERSIST: `${settings.nonPersistentBytes}b`,
      TA_MEMSYSTEMRESERVED: UNKNOWN,
      TA_MEMTOTALALLOCATED: UNKNOWN,
      TA_CUREXTENT: isOpen ? extents.filter(({ space }) => space === name).length : UNKNOWN,
      ...useOf(info),
      TA_PERCENTINIT: 100,
    });
  }
  return rows;
}

async function settingsOf(
  reach: Reach,
  { device, name }: { device: string; name: string },
): Promise<SpaceSettings> {
  const { members } = await reach.device(ADMIN.QSPACEATTR, { device }, name);
  if (isSpaceSettings(members)) return members;
  throw unexpected();
}

/** What is not counted is -1, and everything of a space that is closed; resources that nothing here uses are at 0. */
function useOf(info: SpaceInfo | null): Row {
  const row: Record<string, MibValue> = {};
  for (const what of USED) {
    for (const field of [`TA_CUR${what}`, `TA_HW${what}`])
      row[field] = info === null || NOT_COUNTED.includes(field) ? UNKNOWN : 0;
  }
  if (info === null) return row;
  const { curMessages, curQueues, curTransactions, curNonPersistentBytes } = info;
  return {
    ...row,
    TA_CURMSG: curMessages,
    TA_CURQUEUES: curQueues,
    TA_CURTRANS: curTransactions,
    TA_CURMEMNONPERSIST: curNonPersistentBytes,
  };
}

async function create(asked: Asked, reach: Reach): Promise<Done> {
  const device = asked.text('TA_QMCONFIG');
  const name = asked.text('TA_APPQSPACENAME');
  await renaming(reach.device(ADMIN.QSPACECREATE, { device, ...settingsIn(asked) }, name), FIELDS);
  const made = (await usesOf(asked, reach)).filter((one) => one.name === name);
  return {
    changed: true,
    status: 'the queue space was created',
    rows: await rowsOf(asked, { reach, uses: made }),
  };
}

function settingsIn(asked: Asked): Record<string, MemberValue> {
  const settings: Record<string, MemberValue> = {};
  for (const [field, member] of Object.entries(PLAIN)) {
    const value = asked.given[field];
    if (value !== undefined) settings[member] = value;
  }
  if (asked.has('TA_MEMNONPERSIST'))
    settings['nonPersistentBytes'] = memoryIn('TA_MEMNONPERSIST', asked.text('TA_MEMNONPERSIST'));
  return settings;
}

interface Existing {
  readonly reach: Reach;
  readonly use: SpaceUseInfo;
}
type Outcome = Pick<Done, 'changed' | 'status'>;

async function perform(asked: Asked, { reach, use }: Existing): Promise<Outcome> {
  const device = asked.text('TA_QMCONFIG');
  const isClosed = use.state === 'closed';
  switch (asked.state) {
    case 'OPE':
      if (!isClosed) return { changed: false, status: 'the queue space is open already' };
      await reach.opened(device, use.name);
      return { changed: true, status: 'the queue space was opened for administration' };
    case 'CLE': {
      if (isClosed) return { changed: false, status: 'the queue space is closed already' };
      const members = { device, force: asked.forced(MIB.QMIB_FORCECLOSE) };
      const { count } = (await reach.device(ADMIN.IPCRM, members, use.name)).members;
      const lost = `with ${String(count)} non-persistent messages`;
      const status = use.state === 'served' ? 'it stays, for it is served; emptied' : 'removed from memory';
      return { changed: true, status: `the queue space: ${status} ${lost}` };
    }
    case 'INV': {
      const members = { device, force: asked.forced(MIB.QMIB_FORCEDELETE) };
      const { count } = (await reach.device(ADMIN.QSPACEDESTROY, members, use.name)).members;
      const what = count === UNKNOWN ? 'that could not be read' : `with ${String(count)} messages`;
      return { changed: true, status: `the queue space was destroyed, ${what}` };
    }
    default:
      return change(asked, { reach, use });
  }
}

/** The attributes that are to be others. Pages are added on their own: two requests would be two changes. */
async function change(asked: Asked, { reach, use }: Existing): Promise<Outcome> {
  const device = asked.text('TA_QMCONFIG');
  const now: Readonly<Record<string, unknown>> = { ...(await settingsOf(reach, { device, name: use.name })) };
  const others = Object.entries(settingsIn(asked)).filter(([member, value]) => now[member] !== value);
  if (asked.has('TA_FORCEINIT')) throw fixed('TA_FORCEINIT');
  if (others.length === 0) return { changed: false, status: 'the queue space has these values already' };
  const { pages, queues, ...changes } = Object.fromEntries(others);
  if (queues !== undefined) throw fixed('TA_MAXQUEUES');
  if (pages === undefined) {
    await renaming(reach.device(ADMIN.QSPACECHANGE, { device, ...changes }, use.name), FIELDS);
    return { changed: true, status: 'the queue space was changed' };
  }
  const more = Number(pages) - Number(now['pages']);
  if (Object.keys(changes).length > 0 || more < 0) {
    const why = more < 0 ? 'pages are added, not taken away' : 'pages are added by a SET of their own';
    throw new MibError(TAERROR.TAEINVAL, `TA_MAXPAGES: ${why}`, { field: 'TA_MAXPAGES' });
  }
  await reach.device(ADMIN.QSPACEADD, { device, pages: more }, use.name);
  return { changed: true, status: `${more} pages were added` };
}

function fixed(field: string): MibError {
  return new MibError(TAERROR.TAEPERM, `${field} is fixed when the queue space is made`, { field });
}

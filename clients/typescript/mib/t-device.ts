// T_DEVICE: entries of a device list, as crdl and dsdl make and remove them; what of TM_MIB a set-up of queue spaces needs [spec 7.1].
import { ADMIN } from '../../../proto/codes.ts';
import { type Attributes, DEVICE_KEY, LMID_KEY, MibError, type Row } from './attribute.ts';
import type { Asked, Done, Found, MibClass } from './asked.ts';
import { TAERROR } from './codes.ts';
import { type Reach, unexpected } from './reach.ts';

const PATH_BYTES = 1024;

const attributes: Attributes = {
  TA_CFGDEVICE: DEVICE_KEY,
  TA_LMID: LMID_KEY,
  TA_DEVINDEX: { type: 'long', perms: 'r', key: true, names: true },
  TA_DEVICE: { type: 'string', perms: 'ru', min: 1, max: PATH_BYTES },
  TA_DEVOFFSET: { type: 'long', perms: 'ru' },
  TA_DEVSIZE: { type: 'long', perms: 'ru', needed: 'new', min: 1 },
};

export const tDevice: MibClass = {
  name: 'T_DEVICE',
  attributes,
  getStates: { VAL: 'VALID' },
  setStates: { NEW: 'NEW', INV: 'INVALID' },
  flags: {},
  async get(asked, reach) {
    const entries = await entriesOf(asked, reach);
    const rows = entries.filter((_, index) => {
      const isWanted = !asked.has('TA_DEVINDEX') || asked.long('TA_DEVINDEX') === index;
      return isWanted && index >= Number(asked.at);
    });
    return pageOf(rows, asked);
  },
  async set(asked, reach) {
    if (asked.state === 'NEW') return add(asked, reach);
    if (asked.state === 'INV') return remove(asked, reach);
    const text = 'TA_STATE is not given: an entry is made (NEW) or removed (INV), not changed';
    throw new MibError(TAERROR.TAEREQUIRED, text, { field: 'TA_STATE' });
  },
};

function pageOf(rows: readonly Row[], { limit }: Asked): Found {
  const next = rows[limit]?.['TA_DEVINDEX'];
  return { rows: rows.slice(0, limit), next: next === undefined ? null : String(next) };
}

/** Entries come before extents. */
async function entriesOf(asked: Asked, reach: Reach): Promise<Row[]> {
  const device = asked.text('TA_CFGDEVICE');
  const items = await reach.rows(ADMIN.DEVLIST, device, 'TA_CFGDEVICE');
  const entries = items.filter((item) => 'device' in item);
  return entries.map(({ device: path, offset, pages }, index) => {
    if (typeof path !== 'string' || typeof offset !== 'number' || typeof pages !== 'number')
      throw unexpected();
    return {
      TA_CFGDEVICE: device,
      TA_LMID: reach.lmid,
      TA_STATE: 'VAL',
      TA_DEVINDEX: index,
      TA_DEVICE: path,
      TA_DEVOFFSET: offset,
      TA_DEVSIZE: pages,
    };
  });
}

async function add(asked: Asked, reach: Reach): Promise<Done> {
  if (asked.has('TA_DEVINDEX'))
    throw new MibError(TAERROR.TAEINVAL, 'TA_DEVINDEX: a new entry gets the next index', {
      field: 'TA_DEVINDEX',
    });
  const device = asked.text('TA_CFGDEVICE');
  const entry = asked.has('TA_DEVICE') ? asked.text('TA_DEVICE') : device;
  const members = { device, entry, offset: asked.long('TA_DEVOFFSET'), pages: asked.long('TA_DEVSIZE') };
  await reach.device(ADMIN.DEVADD, members);
  return { changed: true, status: 'the entry was added', rows: (await entriesOf(asked, reach)).slice(-1) };
}

async function remove(asked: Asked, reach: Reach): Promise<Done> {
  if (!asked.has('TA_DEVINDEX'))
    throw new MibError(TAERROR.TAEREQUIRED, 'TA_DEVINDEX is not given', { field: 'TA_DEVINDEX' });
  const index = asked.long('TA_DEVINDEX');
  if ((await entriesOf(asked, reach))[index] === undefined)
    throw new MibError(TAERROR.TAEUNIQ, `the device list has no entry ${index}`, { field: 'TA_DEVINDEX' });
  await reach.device(ADMIN.DEVREMOVE, { device: asked.text('TA_CFGDEVICE'), index });
  return { changed: true, status: `entry ${index} was removed`, rows: [] };
}

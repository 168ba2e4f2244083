// Requests about a device of the daemon: its list, and the queue spaces on it, also those that the configuration does not name [spec 5.2].
// Owns the check of their members, the codes of refusals, and the pages of lists. Invariant: exactly one answer each, given when what it says is
// on disk. Must not know files: boot hands in the devices.
import { ADMIN, LIMIT, OP, QME, TPERRNO } from '../../proto/codes.ts';
import { membersBytesMax } from '../../proto/members.ts';
import type { Admin, Members, MemberValue } from '../../proto/message.ts';
import type { Client } from '../atmi/client.ts';
import { RefusedError, type DeviceAdmin, type Refusal, type SpaceChanges } from '../device/device.ts';
import type { Failure } from '../engine/request.ts';
import { checkedSpace, newSpace } from './space-attributes.ts';
import type { NamedSpace } from './views.ts';

/** A device whose lock the daemon holds. */
export interface HostedDevice extends DeviceAdmin {
  /** A space that requests about queues can name from then on. */
  openSpace(space: string): Promise<NamedSpace>;
}

export interface DeviceAsked {
  readonly client: Client;
  readonly request: Admin;
  readonly refuse: (failure: Failure, message: string) => void;
  /** For the log. */
  readonly said: (what: string) => void;
}

type Kind = 'text' | 'count' | 'flag';
interface Answer {
  readonly members?: Members;
  readonly items?: readonly Members[];
  /** What has changed. */
  readonly said?: string;
}

/** What one verb takes beside `device`, and does. */
interface Verb {
  /** It is about one space, which the request's qspace names. */
  readonly isAboutSpace: boolean;
  /** null: the attributes of a queue space. */
  readonly members: Readonly<Record<string, Kind>> | null;
  readonly optional?: readonly string[];
  readonly run: (device: HostedDevice, space: string, given: Given) => Promise<Answer>;
}

/** The members of the request, already checked, without `device`. */
interface Given {
  readonly members: Members;
  text(name: string): string;
  count(name: string): number;
  flag(name: string): boolean;
}

const FAILURES: Readonly<Record<Refusal, Failure>> = {
  absent: TPERRNO.TPENOENT,
  exists: TPERRNO.TPEMATCH,
  'in use': QME.QMESHARE,
  'no room': QME.QMENOSPACE,
  illegal: QME.QMEINVAL,
  failed: QME.QMESYSTEM,
};

const VERBS: Readonly<Record<number, Verb>> = {
  [ADMIN.DEVLIST]: {
    isAboutSpace: false,
    members: { after: 'count' },
    optional: ['after'],
    async run(device, _, given) {
      const { entries, extents } = await device.contents();
      const rows: Members[] = [
        ...entries.map((entry) => ({ ...entry })),
        ...extents.map((one) => ({ ...one })),
      ];
      return pageOf(rows.slice(given.count('after')), rows.length);
    },
  },
  [ADMIN.DEVADD]: {
    isAboutSpace: false,
    members: { entry: 'text', offset: 'count', pages: 'count' },
    async run(device, _, given) {
      const entry = {
        device: given.text('entry'),
        offset: given.count('offset'),
        pages: given.count('pages'),
      };
      if (entry.pages === 0) throw new RefusedError('pages: 0 is not legal; legal: 1 or more');
      await device.addEntry(entry);
      return {
        said: `device list: ${entry.device}, ${entry.pages} pages from ${entry.offset} on were added`,
      };
    },
  },
  [ADMIN.DEVCHANGE]: {
    isAboutSpace: false,
    members: { index: 'count', entry: 'text' },
    async run(device, _, given) {
      await device.renameEntry(given.count('index'), given.text('entry'));
      return { said: `device list: entry ${given.count('index')} is now ${given.text('entry')}` };
    },
  },
  [ADMIN.DEVREMOVE]: {
    isAboutSpace: false,
    members: { index: 'count' },
    async run(device, _, given) {
      await device.removeEntry(given.count('index'));
      return { said: `device list: entry ${given.count('index')} was removed` };
    },
  },
  [ADMIN.QSPACELIST]: {
    isAboutSpace: false,
    members: { after: 'count' },
    optional: ['after'],
    async run(device, _, given) {
      const rows: Members[] = (await device.spaces()).map((space) => ({ ...space }));
      return pageOf(rows.slice(given.count('after')), rows.length);
    },
  },
  [ADMIN.QSPACEATTR]: {
    isAboutSpace: true,
    members: {},
    run: async (device, space) => ({ members: { ...(await device.attributes(space)) } }),
  },
  [ADMIN.QSPACECREATE]: {
    isAboutSpace: true,
    members: null,
    async run(device, space, given) {
      const made = newSpace(space, given.members);
      if (typeof made === 'string') throw new RefusedError(made);
      await device.createSpace(made);
      return { said: 'queue space created' };
    },
  },
  [ADMIN.QSPACECHANGE]: {
    isAboutSpace: true,
    members: null,
    async run(device, space, given) {
      const checked = checkedSpace(given.members);
      if (!checked.ok) throw new RefusedError(checked.fault);
      const { pages, queues, ...changes } = checked.value;
      if (pages !== undefined) throw new RefusedError('pages: they are added by QSPACEADD');
      if (queues !== undefined) throw new RefusedError('queues: their number is fixed when a space is made');
      await device.changeSpace(space, changes satisfies SpaceChanges);
      return { said: `queue space changed: ${JSON.stringify(changes)}` };
    },
  },
  [ADMIN.QSPACEADD]: {
    isAboutSpace: true,
    members: { pages: 'count' },
    async run(device, space, given) {
      if (given.count('pages') === 0) throw new RefusedError('pages: 0 is not legal; legal: 1 or more');
      await device.addPages(space, given.count('pages'));
      return { said: `${given.count('pages')} pages were added` };
    },
  },
  [ADMIN.QSPACEDESTROY]: {
    isAboutSpace: true,
    members: { force: 'flag' },
    optional: ['force'],
    async run(device, space, given) {
      const count = await device.destroySpace(space, { force: given.flag('force') });
      return {
        members: { count: count ?? -1 },
        said: `queue space destroyed with ${count ?? 'unread'} messages`,
      };
    },
  },
  [ADMIN.QSPACEOPEN]: {
    isAboutSpace: true,
    members: {},
    async run(device, space) {
      const { name, device: path, isServed = true } = await device.openSpace(space);
      return { members: { qspace: `${path}:${name}`, served: isServed } };
    },
  },
  [ADMIN.IPCRM]: {
    isAboutSpace: true,
    members: { force: 'flag' },
    optional: ['force'],
    async run(device, space, given) {
      const count = await device.removeMemory(space, { force: given.flag('force') });
      return { members: { count }, said: `removed from memory, with ${count} non-persistent messages` };
    },
  },
};

export function isAboutDevices(verb: number): boolean {
  return Object.hasOwn(VERBS, verb);
}

export class DeviceRequests {
  private readonly find: (path: string) => HostedDevice | undefined;

  constructor(find: (path: string) => HostedDevice | undefined) {
    this.find = find;
  }

  handle(asked: DeviceAsked): void {
    const { request, refuse } = asked;
    const verb = VERBS[request.verb] as Verb;
    if (request.qname !== '') return refuse(TPERRNO.TPEINVAL, 'this verb takes no queue name');
    if ((request.qspace === '') === verb.isAboutSpace) {
      const message = verb.isAboutSpace
        ? 'the name of the queue space is empty'
        : 'this verb takes no queue space';
      return refuse(TPERRNO.TPEINVAL, message);
    }
    const { device: path, ...members } = request.members;
    if (typeof path !== 'string')
      return refuse(QME.QMEINVAL, 'device: a path is needed, as OPENINFO names it');
    const fault = memberFault(verb, members);
    if (fault !== '') return refuse(QME.QMEINVAL, fault);
    const device = this.find(path);
    if (device === undefined) return refuse(TPERRNO.TPENOENT, `this daemon has no device ${path}`);
    return void perform(asked, () => verb.run(device, request.qspace, givenBy(members)));
  }
}

async function perform(
  { client, request, refuse, said }: DeviceAsked,
  work: () => Promise<Answer>,
): Promise<void> {
  try {
    const { members = {}, items = [], said: what } = await work();
    if (what !== undefined) said(what);
    client.port.send({ op: OP.ADMIN, id: request.id, members, items: [...items] });
  } catch (error) {
    if (!(error instanceof Error) || error.name === 'AssertionError') throw error;
    refuse(error instanceof RefusedError ? FAILURES[error.refusal] : QME.QMEOS, error.message);
  }
}

function memberFault({ members: known, optional = [] }: Verb, members: Members): string {
  if (known === null) return '';
  for (const [name, value] of Object.entries(members)) {
    const kind = Object.hasOwn(known, name) ? known[name] : undefined;
    if (kind === undefined)
      return `${name} is no member of this verb; legal: ${['device', ...Object.keys(known)].join(', ')}`;
    const legal = legalOf(kind, value);
    if (legal !== '') return `${name}: ${JSON.stringify(value).slice(0, 60)} is not legal; legal: ${legal}`;
  }
  const missing = Object.keys(known).find((name) => !optional.includes(name) && !(name in members));
  return missing === undefined ? '' : `${missing} is not given`;
}

/** '' or what would be. */
function legalOf(kind: Kind, value: MemberValue): string {
  if (kind === 'flag') return typeof value === 'boolean' ? '' : 'true or false';
  if (kind === 'text') return typeof value === 'string' && value !== '' ? '' : 'text';
  const fits = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
  return fits ? '' : 'a whole number, 0 or more';
}

function givenBy(members: Members): Given {
  return {
    members,
    text: (name) => String(members[name] ?? ''),
    count: (name) => Number(members[name] ?? 0),
    flag: (name) => members[name] === true,
  };
}

/** As many of the rows as an answer holds, one at least; `after` of the next page is the number of those seen. */
function pageOf(rows: readonly Members[], all: number): Answer {
  const items: Members[] = [];
  let bytes = 0;
  for (const row of rows) {
    bytes += membersBytesMax(row);
    if (items.length > 0 && (bytes > LIMIT.PAGE_BYTES || items.length >= LIMIT.PAGE_MAX)) break;
    items.push(row);
  }
  return { members: { more: items.length < rows.length, all }, items };
}

// What ADMIN's members are called and hold, as types, and the check of an answer. PROTOCOL.md §6.2 says what they mean. Invariant: an answer
// that lacks a member of these tables, or has it with another type, is refused; members that this version does not know stay, so that a newer
// daemon may add some. Must not know where the values come from.
import type { Members, MemberValue } from './message.ts';

/** What a queue is made with [spec 5.4]; all may be given to QCREATE, all but `order` changed by QCHANGE. */
export interface QueueSettings {
  /** Comma list of priority, time, expiration, then fifo or lifo. Fixed when the queue is created. */
  readonly order: string;
  /** `none`, `top`, `msgid`, or `top,msgid`. */
  readonly outOfOrder: string;
  readonly retries: number;
  /** Seconds between a rollback and the next availability. */
  readonly delayS: number;
  /** Delivery policy of messages that ask for none. */
  readonly policy: 'persist' | 'nonpersist';
  /** Seconds after which messages that say nothing expire; -1: never. */
  readonly expiryS: number;
  /** Threshold of persistent messages: a number with b, B, m or %; `low` also a bare 0. */
  readonly high: string;
  readonly low: string;
  /** Run by the daemon's shell when `high` is reached; '' = none. */
  readonly cmd: string;
  /** The same of non-persistent messages, with b, B or %. */
  readonly nonPersistentHigh: string;
  readonly nonPersistentLow: string;
  readonly nonPersistentCmd: string;
  /** Closed for that direction: QMESHARE. */
  readonly enqueuePaused: boolean;
  readonly dequeuePaused: boolean;
}

/** A queue and what is on it. */
export interface QueueInfo extends QueueSettings {
  readonly name: string;
  /** Messages on the queue: ready, delayed and locked. */
  readonly messages: number;
  readonly ready: number;
  /** Not available yet. */
  readonly delayed: number;
  /** Held by open transactions, or being fetched. */
  readonly locked: number;
  /** Enqueued by transactions that are open; not on the queue yet. */
  readonly pending: number;
  /** Of the persistent messages: how many, bytes of their records, pages of 512 bytes. */
  readonly persistentMessages: number;
  readonly bytes: number;
  readonly pages: number;
  /** Of the non-persistent messages: how many, bytes of memory. */
  readonly nonPersistentMessages: number;
  readonly nonPersistentBytes: number;
  /** Dequeues that wait here. */
  readonly waiting: number;
  /** Since the daemon's start. */
  readonly enqueued: number;
  readonly dequeued: number;
  readonly expired: number;
  /** Whether reaching `high` runs `cmd`; the same of non-persistent messages. */
  readonly armed: boolean;
  readonly nonPersistentArmed: boolean;
}

/** With what a queue space was made [spec 5.3]. A limit of 0 is none. */
export interface SpaceSettings {
  readonly name: string;
  readonly errorQueue: string;
  readonly ipcKey: number;
  readonly pages: number;
  readonly queues: number;
  readonly transactions: number;
  readonly processes: number;
  readonly messages: number;
  readonly actions: number;
  readonly nonPersistentBytes: number;
  readonly blocking: number;
  readonly handles: number;
  readonly cursors: number;
  readonly owners: number;
  readonly temporaryQueues: number;
  readonly filterBytes: number;
  readonly overflowBytes: number;
}

/** A queue space that is open: with what it was made, and what is used of it. */
export interface SpaceInfo extends SpaceSettings {
  readonly device: string;
  readonly aliases: readonly string[];
  /** After a log error: `failed`. */
  readonly state: 'open' | 'failed';
  /** In use now, open transactions included. */
  readonly curPages: number;
  readonly curQueues: number;
  readonly curTransactions: number;
  readonly curMessages: number;
  readonly curNonPersistentBytes: number;
  /** Destroyed queues that are being emptied. */
  readonly doomedQueues: number;
}

/** A queue space of a device, and what of it is in memory: of a `closed` one all numbers are 0. */
export interface SpaceUseInfo {
  readonly name: string;
  /** `served` to everyone, `open` for administration alone, or `closed`. */
  readonly state: 'served' | 'open' | 'closed';
  readonly ipcKey: number;
  readonly messages: number;
  readonly nonPersistentMessages: number;
  readonly nonPersistentBytes: number;
  readonly transactions: number;
}

/** A server of the configuration after SRVSTART or SRVSTOP. */
export interface ServerInfo {
  /** The name of its line, e.g. TMQFORWARD. */
  readonly name: string;
  readonly group: string;
  readonly srvid: number;
  /** SRVSTART: `started`, or `running` already. SRVSTOP: `stopped`, or `down` already. */
  readonly state: 'started' | 'running' | 'stopped' | 'down';
}

/** A line of *SERVERS of this machine, as SRVLIST tells it. */
export interface ServerLine {
  readonly name: string;
  readonly group: string;
  /** Its instances have the ids srvid .. srvid + max - 1; min of them start with the daemon. */
  readonly srvid: number;
  readonly min: number;
  readonly max: number;
  readonly kind: 'tmqforward' | 'tmqueue' | 'wsl' | 'system' | 'application';
  /** The ids that are up; of a forwarder only. */
  readonly running: readonly string[];
  /** Why SRVSTART and SRVSTOP refuse it; '' where they do not. */
  readonly why: string;
}

/** What RELOAD came to: `refused` is answered with faults, and nothing has changed. */
export type ReloadOutcome = 'applied' | 'unchanged' | 'refused';

/** One thing that RELOAD changed, found strange, or refused. */
export interface ReloadItem {
  readonly kind: 'changed' | 'note' | 'fault';
  readonly text: string;
  /** Of a fault: where it is; line 0: the whole file. Else '' and 0. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export type Kind = 'string' | 'number' | 'boolean' | 'list';
export type Table<T> = Readonly<Record<keyof T, Kind>>;

const QUEUE_INFO: Table<QueueInfo> = {
  name: 'string',
  order: 'string',
  outOfOrder: 'string',
  retries: 'number',
  delayS: 'number',
  policy: 'string',
  expiryS: 'number',
  high: 'string',
  low: 'string',
  cmd: 'string',
  nonPersistentHigh: 'string',
  nonPersistentLow: 'string',
  nonPersistentCmd: 'string',
  enqueuePaused: 'boolean',
  dequeuePaused: 'boolean',
  messages: 'number',
  ready: 'number',
  delayed: 'number',
  locked: 'number',
  pending: 'number',
  persistentMessages: 'number',
  bytes: 'number',
  pages: 'number',
  nonPersistentMessages: 'number',
  nonPersistentBytes: 'number',
  waiting: 'number',
  enqueued: 'number',
  dequeued: 'number',
  expired: 'number',
  armed: 'boolean',
  nonPersistentArmed: 'boolean',
};

const SPACE_SETTINGS: Table<SpaceSettings> = {
  name: 'string',
  errorQueue: 'string',
  ipcKey: 'number',
  pages: 'number',
  queues: 'number',
  transactions: 'number',
  processes: 'number',
  messages: 'number',
  actions: 'number',
  nonPersistentBytes: 'number',
  blocking: 'number',
  handles: 'number',
  cursors: 'number',
  owners: 'number',
  temporaryQueues: 'number',
  filterBytes: 'number',
  overflowBytes: 'number',
};

const SPACE_INFO: Table<SpaceInfo> = {
  ...SPACE_SETTINGS,
  device: 'string',
  aliases: 'list',
  state: 'string',
  curPages: 'number',
  curQueues: 'number',
  curTransactions: 'number',
  curMessages: 'number',
  curNonPersistentBytes: 'number',
  doomedQueues: 'number',
};

const SPACE_USE: Table<SpaceUseInfo> = {
  name: 'string',
  state: 'string',
  ipcKey: 'number',
  messages: 'number',
  nonPersistentMessages: 'number',
  nonPersistentBytes: 'number',
  transactions: 'number',
};
const SPACE_STATES: readonly unknown[] = ['served', 'open', 'closed'];

const SERVER_INFO: Table<ServerInfo> = { name: 'string', group: 'string', srvid: 'number', state: 'string' };
const SERVER_LINE: Table<ServerLine> = {
  name: 'string',
  group: 'string',
  srvid: 'number',
  min: 'number',
  max: 'number',
  kind: 'string',
  running: 'list',
  why: 'string',
};
const SERVER_KINDS: readonly unknown[] = ['tmqforward', 'tmqueue', 'wsl', 'system', 'application'];
const RELOAD_ITEM: Table<ReloadItem> = {
  kind: 'string',
  text: 'string',
  file: 'string',
  line: 'number',
  column: 'number',
};
const RELOAD_KINDS: readonly unknown[] = ['changed', 'note', 'fault'];
const SERVER_STATES: readonly unknown[] = ['started', 'running', 'stopped', 'down'];

export const QUEUE_INFO_NAMES: readonly string[] = Object.keys(QUEUE_INFO);
export const SPACE_INFO_NAMES: readonly string[] = Object.keys(SPACE_INFO);

export function isQueueInfo(members: Members): members is Members & QueueInfo {
  const { policy } = members;
  return fits(members, QUEUE_INFO) && (policy === 'persist' || policy === 'nonpersist');
}

export function isSpaceInfo(members: Members): members is Members & SpaceInfo {
  const { state } = members;
  return fits(members, SPACE_INFO) && (state === 'open' || state === 'failed');
}

export function isSpaceSettings(members: Members): members is Members & SpaceSettings {
  return fits(members, SPACE_SETTINGS);
}

export function isSpaceUse(members: Members): members is Members & SpaceUseInfo {
  return fits(members, SPACE_USE) && SPACE_STATES.includes(members['state']);
}

export function isServerInfo(members: Members): members is Members & ServerInfo {
  return fits(members, SERVER_INFO) && SERVER_STATES.includes(members['state']);
}

export function isServerLine(members: Members): members is Members & ServerLine {
  return fits(members, SERVER_LINE) && SERVER_KINDS.includes(members['kind']);
}

export function isReloadItem(members: Members): members is Members & ReloadItem {
  return fits(members, RELOAD_ITEM) && RELOAD_KINDS.includes(members['kind']);
}

export function isReloadOutcome(value: unknown): value is ReloadOutcome {
  return value === 'applied' || value === 'unchanged' || value === 'refused';
}

/** Whether all members of the table are there with their types. */
export function fits(members: Members, table: Readonly<Record<string, Kind>>): boolean {
  return Object.entries(table).every(([name, kind]) => kindOf(members[name]) === kind);
}

function kindOf(value: MemberValue | undefined): Kind | null {
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'number') return 'number';
  return typeof value === 'boolean' ? 'boolean' : null;
}

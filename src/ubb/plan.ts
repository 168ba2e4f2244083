// A Domain and a machine to what that machine hosts: the listeners, queue spaces, roles and services that boot starts. Owns the
// choice of the machine and the making of absolute paths; must not know how anything is started. Ask only for a Domain without faults.

import { resolve } from 'node:path';
import { formatFault, shown, sortFaults, type Fault } from './fault.ts';
import { lmidList } from './machines.ts';
import type {
  Domain,
  Group,
  ListenAddress,
  Machine,
  Note,
  Queue,
  Role,
  Server,
  Space,
  SpaceLimits,
} from './model.ts';
import { macrosThatMatter } from './unfilled.ts';

export interface HostPlan {
  readonly lmid: string;
  /** Absolute; the first of several. */
  readonly appdir: string;
  /** From WSL -n; empty: the caller uses its default. */
  readonly listen: readonly ListenAddress[];
  readonly maxGtt: number;
  /** The transaction log: an absolute directory, and the log's name on it. */
  readonly tlog: { readonly device: string; readonly name: string };
  readonly blockTimeMs: number;
  /** 0: no ceiling. */
  readonly maxTranTimeS: number;
  /** How clients that say nothing take unsolicited messages: DIPIN, SIGNAL, THREAD or IGNORE. */
  readonly notify: string;
  /** When tpcommit returns unless tpscmt said: COMPLETE or LOGGED. */
  readonly cmtRet: string;
  readonly spaces: readonly SpacePlan[];
  readonly tmqueues: readonly TmqueuePlan[];
  readonly forwarders: readonly ForwarderPlan[];
  readonly services: readonly ServicePlan[];
  readonly applicationServers: readonly ApplicationServerPlan[];
  /** All servers of this machine, those above too. */
  readonly servers: readonly ServerPlan[];
  /** What the file asks of this machine and this release does not do: start refuses when there is any. */
  readonly notYet: readonly Fault[];
  /** Unfilled macros in what matters to this machine: start refuses when there is any. */
  readonly macros: readonly Fault[];
  /** Formatted, with file and line. */
  readonly warnings: readonly string[];
}

export interface SpacePlan {
  readonly name: string;
  readonly group: string;
  /** The configuration, as messages name it. */
  readonly file: string;
  /** Absolute directory. */
  readonly device: string;
  /** It has a line in *QSPACES and is created when missing; else it must exist. */
  readonly declared: boolean;
  /** '' when it has none, or the space is not declared. */
  readonly errorQueue: string;
  readonly limits: SpaceLimits;
  readonly queues: readonly QueuePlan[];
  readonly line: number;
}

export interface QueuePlan {
  readonly name: string;
  readonly retries: number;
  readonly delayS: number;
  /** fifo or lifo always last: `fifo`, `priority,fifo`. */
  readonly order: string;
  /** `none`, `top`, `msgid` or `top,msgid`. */
  readonly outOfOrder: string;
  readonly policy: 'persist' | 'nonpersist';
  readonly expiryS: number | null;
  readonly high: string;
  readonly low: string;
  readonly command: string;
  /** The same of non-persistent messages: NHIGH, NLOW, NCMD. */
  readonly nonPersistentHigh: string;
  readonly nonPersistentLow: string;
  readonly nonPersistentCommand: string;
  readonly line: number;
  readonly column: number;
}

export interface TmqueuePlan {
  readonly group: string;
  readonly srvid: number;
  readonly aliases: readonly string[];
  readonly timeoutS: number;
  readonly space: string;
  readonly line: number;
}

/** What its CLOPT says, and: */
export interface ForwarderPlan extends Omit<Extract<Role, { kind: 'tmqforward' }>, 'kind'> {
  readonly group: string;
  readonly grpno: number;
  /** That of its first instance. */
  readonly srvid: number;
  /** Those that start with the daemon: MIN. */
  readonly instances: number;
  /** MAX: those above MIN start by id. */
  readonly instancesMax: number;
  readonly restart: boolean;
  readonly maxGen: number;
  readonly graceS: number;
  readonly rcmd: string;
  readonly space: string;
  readonly line: number;
}

export interface ServicePlan {
  readonly name: string;
  /** Values for that group's servers only; undefined: for all. */
  readonly group: string | undefined;
  readonly prio: number;
  readonly load: number;
  /** 0: blockTimeMs of the plan. */
  readonly blockTimeS: number;
  /** `ALL`, or `TYPE[:SUBTYPE[,SUBTYPE...]][;TYPE...]`. */
  readonly bufferTypes: string;
  readonly autotran: boolean;
  readonly tranTimeS: number;
}

export interface ApplicationServerPlan {
  readonly name: string;
  readonly group: string;
  /** Its instances have the ids srvid .. srvid + max - 1. */
  readonly srvid: number;
  readonly min: number;
  readonly max: number;
}

/** Its instances have the ids srvid .. srvid + max - 1. */
export interface ServerPlan {
  readonly name: string;
  readonly kind: Role['kind'];
  readonly group: string;
  readonly srvid: number;
  readonly min: number;
  readonly max: number;
}

/** Which machine: `lmid` as the operator gave it, else the host's name, else the only one. */
export interface HostChoice {
  readonly lmid?: string | undefined;
  /** Absolute, instead of the machine's APPDIR. */
  readonly appdir?: string | undefined;
  readonly hostname: string;
}

export type PlanResult =
  { readonly ok: true; readonly plan: HostPlan } | { readonly ok: false; readonly fault: Fault };

const NO_LIMITS: SpaceLimits = {
  pages: 0,
  queues: 0,
  transactions: 0,
  processes: 0,
  messages: 0,
  actions: 0,
  nonPersistentBytes: 0,
  blocking: 16,
};

export function planHost(domain: Domain, choice: HostChoice): PlanResult {
  const machine = chooseMachine(domain, choice);
  if ('message' in machine) return { ok: false, fault: machine };
  const groups = domain.groups.filter((group) => group.lmids[0] === machine.lmid);
  const names = new Set(groups.map((group) => group.name));
  const servers = domain.servers.filter((server) => names.has(server.group));
  const appdir = choice.appdir ?? resolve(domain.directory, machine.appdir);
  const here = (note: Note): boolean => note.group === undefined || names.has(note.group);
  const spaceOf = new Map(groups.map((group) => [group.name, group.queueSpace?.space ?? '']));
  const declared = declaredSpaces(domain);
  const plan: HostPlan = {
    lmid: machine.lmid,
    appdir,
    listen: servers.flatMap(({ role }) => (role.kind === 'wsl' ? role.listen : [])),
    maxGtt: machine.maxGtt,
    tlog: { device: resolve(appdir, machine.tlogDevice), name: machine.tlogName },
    blockTimeMs: domain.resources.blockTimeMs,
    maxTranTimeS: domain.resources.maxTranTimeS,
    notify: domain.resources.notify,
    cmtRet: domain.resources.cmtRet,
    spaces: groups.flatMap((group) => planSpace(domain, group, { appdir, declared })),
    tmqueues: servers.flatMap((server) => planTmqueue(server, spaceOf)),
    forwarders: servers.flatMap((server) => planForwarder(server, groups)),
    services: domain.services.map(
      ({ name, group, prio, load, blockTimeS, bufferTypes, autotran, tranTimeS }) => ({
        name,
        group,
        prio,
        load,
        blockTimeS,
        bufferTypes,
        autotran,
        tranTimeS,
      }),
    ),
    applicationServers: servers
      .filter(({ role }) => role.kind === 'application')
      .map(({ name, group, srvid, min, max }) => ({ name, group, srvid, min, max })),
    servers: servers.map(({ name, role, group, srvid, min, max }) => ({
      name,
      kind: role.kind,
      group,
      srvid,
      min,
      max,
    })),
    notYet: domain.notYet.filter(here),
    macros: macrosThatMatter(domain, { machines: [machine], groups, servers }),
    warnings: domain.warnings.filter(here).map(formatFault),
  };
  return { ok: true, plan };
}

/** Everything for which `start` refuses on one machine or another: what is not supported yet, and macros that matter. */
export function obstaclesOf(domain: Domain): Fault[] {
  return obstacles({ macros: macrosThatMatter(domain, domain), notYet: domain.notYet });
}

/** Those of one machine. */
export function obstacles({ macros, notYet }: Pick<HostPlan, 'macros' | 'notYet'>): Fault[] {
  return sortFaults([...macros, ...notYet]);
}

function chooseMachine(domain: Domain, choice: HostChoice): Machine | Fault {
  const { machines, file } = domain;
  const { lmid, hostname } = choice;
  const only = machines.length === 1 ? machines[0] : undefined;
  const found =
    lmid === undefined
      ? (machines.find((machine) => machine.node === hostname) ?? only)
      : machines.find((machine) => machine.lmid === lmid);
  if (found !== undefined) return found;
  const message =
    lmid === undefined
      ? `no machine of *MACHINES is named ${shown(hostname)}, this host's name; choose one by --lmid; legal: ${lmidList(machines)}`
      : `--lmid ${shown(lmid)} is no LMID of *MACHINES; legal: ${lmidList(machines)}`;
  return { file, line: 0, column: 0, word: shown(lmid ?? hostname), message };
}

interface Declared {
  readonly space: Space;
  readonly queues: readonly Queue[];
}

/** The lines of QSPACES by group and name, each with its queues. */
function declaredSpaces(domain: Domain): ReadonlyMap<string, Declared> {
  const queues = new Map<string, Queue[]>();
  for (const queue of domain.queues) {
    const list = queues.get(queue.space);
    if (list === undefined) queues.set(queue.space, [queue]);
    else list.push(queue);
  }
  return new Map(
    domain.spaces.map((space) => [
      `${space.group}\n${space.name}`,
      { space, queues: queues.get(space.name) ?? [] },
    ]),
  );
}

function planSpace(
  domain: Domain,
  group: Group,
  { appdir, declared }: { appdir: string; declared: ReadonlyMap<string, Declared> },
): SpacePlan[] {
  const { queueSpace } = group;
  if (queueSpace === undefined) return [];
  const { device, space: name } = queueSpace;
  const found = declared.get(`${group.name}\n${name}`);
  const space = found?.space;
  const plan = {
    name,
    group: group.name,
    file: domain.file,
    device: resolve(appdir, device),
    declared: space !== undefined,
    errorQueue: space?.errorQueue ?? '',
    limits: space?.limits ?? NO_LIMITS,
    queues: (found?.queues ?? []).map(planQueue),
    line: space?.line ?? group.line,
  };
  return [plan];
}

function planQueue({ entry: _entry, space: _space, ...attributes }: Queue): QueuePlan {
  return attributes;
}

function planTmqueue(server: Server, spaceOf: ReadonlyMap<string, string>): TmqueuePlan[] {
  const { role, group, srvid, line } = server;
  if (role.kind !== 'tmqueue') return [];
  const { aliases, timeoutS } = role;
  return [{ group, srvid, aliases, timeoutS, space: spaceOf.get(group) ?? '', line }];
}

function planForwarder(server: Server, groups: readonly Group[]): ForwarderPlan[] {
  const { role, srvid, line, min, max, restart, maxGen, graceS, rcmd } = server;
  const group = groups.find(({ name }) => name === server.group);
  if (role.kind !== 'tmqforward' || group === undefined) return [];
  const { kind: _kind, ...options } = role;
  const { name, grpno, queueSpace } = group;
  const life = { restart, maxGen, graceS, rcmd };
  return [
    {
      ...options,
      ...life,
      group: name,
      grpno,
      srvid,
      instances: min,
      instancesMax: max,
      space: queueSpace?.space ?? '',
      line,
    },
  ];
}

// What is different between the configuration in force and the one in the file, and what of that cannot change while the daemon runs, each with
// its place in the file. Pure. Invariant: whatever is different is in one of the lists; what nobody has thought of is refused.
import { findParameter } from '../ubb/checker.ts';
import type { Fault, Spot } from '../ubb/fault.ts';
import type { Domain, Server } from '../ubb/model.ts';
import type { Entry } from '../ubb/parser.ts';
import type {
  ForwarderPlan,
  HostPlan,
  ServerPlan,
  ServicePlan,
  SpacePlan,
  TmqueuePlan,
} from '../ubb/plan.ts';
import { placeOf } from './forwarders.ts';

export interface Change {
  readonly faults: readonly Fault[];
  readonly forwarders: {
    readonly added: readonly ForwarderPlan[];
    readonly changed: readonly { readonly plan: ForwarderPlan; readonly said: string }[];
    readonly removed: readonly ForwarderPlan[];
  };
  /** The names of services whose lines are different. */
  readonly services: readonly string[];
  /** Servers that the daemon only knows of. */
  readonly others: readonly string[];
  /** What an administrator should know. */
  readonly notes: readonly string[];
}

/** Looked at one by one below, or not part of what is in force. */
const HANDLED: readonly string[] = [
  'spaces',
  'tmqueues',
  'forwarders',
  'services',
  'applicationServers',
  'servers',
  'notYet',
  'macros',
  'warnings',
] satisfies readonly (keyof HostPlan)[];

/** Where each of the others stands: the parameters that it may come from. */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  lmid: ['LMID'],
  appdir: ['APPDIR'],
  maxGtt: ['MAXGTT'],
  tlog: ['TLOGDEVICE', 'TLOGNAME'],
  blockTimeMs: ['BLOCKTIME', 'SCANUNIT'],
  maxTranTimeS: ['MAXTRANTIME'],
  notify: ['NOTIFY'],
  cmtRet: ['CMTRET'],
};

export function compare(before: HostPlan, after: HostPlan, domain: Domain): Change {
  const places = new Places(domain, after.lmid);
  const warned = new Set(before.warnings.map(withoutPlace));
  return {
    faults: [
      ...fixed(before, after, places),
      ...spaceFaults(before.spaces, after.spaces, places),
      ...tmqueueFaults(before.tmqueues, after.tmqueues, places),
    ],
    forwarders: forwarderChanges(before.forwarders, after.forwarders),
    services: serviceChanges(before.services, after.services),
    others: otherServers(before.servers, after.servers),
    notes: after.warnings.filter((warning) => !warned.has(withoutPlace(warning))),
  };
}

function fixed(before: HostPlan, after: HostPlan, places: Places): Fault[] {
  const faults: Fault[] = [];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof HostPlan>;
  for (const key of keys) {
    if (HANDLED.includes(key) || isSame(before[key], after[key])) continue;
    if (key === 'listen') {
      const at = places.server((server) => server.role.kind === 'wsl');
      faults.push(
        places.fault(
          at,
          `the addresses of WSL cannot change while the daemon runs; ${restartFor(before.listen, after.listen)}`,
        ),
      );
      continue;
    }
    const { at, name } = places.parameter(key);
    faults.push(
      places.fault(at, `${name} cannot change while the daemon runs; ${restartFor(before[key], after[key])}`),
    );
  }
  return faults;
}

function restartFor(before: unknown, after: unknown): string {
  return `in force: ${shownValue(before)}, the file says ${shownValue(after)}; legal: what is in force, or a restart`;
}

function spaceFaults(before: readonly SpacePlan[], after: readonly SpacePlan[], places: Places): Fault[] {
  const faults: Fault[] = [];
  for (const space of after) {
    const old = before.find(({ group }) => group === space.group);
    const at = places.group(space.group);
    if (old === undefined) {
      faults.push(
        places.fault(
          at,
          `queue space ${space.name} of group ${space.group} is new, and is opened at a start only; legal: a restart`,
        ),
      );
    } else if (old.name !== space.name || old.device !== space.device) {
      const [was, is] = [old, space].map(({ name, device }) => `${name} on ${device}`);
      faults.push(
        places.fault(
          at,
          `OPENINFO of group ${space.group} cannot change while the daemon runs; ${restartFor(was, is)}`,
        ),
      );
    }
  }
  for (const { name, group } of before) {
    if (after.some((space) => space.group === group)) continue;
    const message = `queue space ${name} of group ${group} is no longer in the file, and is closed by a restart only; legal: a restart`;
    faults.push(places.fault(null, message));
  }
  return faults;
}

function tmqueueFaults(
  before: readonly TmqueuePlan[],
  after: readonly TmqueuePlan[],
  places: Places,
): Fault[] {
  const faults: Fault[] = [];
  for (const one of after) {
    const old = before.find((other) => placeOf(other) === placeOf(one));
    if (old !== undefined && isSame(old, one)) continue;
    const at = places.server(({ group, srvid }) => group === one.group && srvid === one.srvid);
    const what = old === undefined ? 'is new' : 'is different';
    faults.push(
      places.fault(
        at,
        `TMQUEUE ${placeOf(one)} ${what}: its names and -t are fixed while the daemon runs; legal: a restart`,
      ),
    );
  }
  for (const old of before) {
    if (after.some((one) => placeOf(one) === placeOf(old))) continue;
    faults.push(
      places.fault(
        null,
        `TMQUEUE ${placeOf(old)} is no longer in the file: it is stopped by a restart only; legal: a restart`,
      ),
    );
  }
  return faults;
}

function forwarderChanges(
  before: readonly ForwarderPlan[],
  after: readonly ForwarderPlan[],
): Change['forwarders'] {
  const [old, now] = [before, after].map((plans) => new Map(plans.map((plan) => [placeOf(plan), plan])));
  const changed: { plan: ForwarderPlan; said: string }[] = [];
  for (const plan of after) {
    const known = old?.get(placeOf(plan));
    if (known !== undefined && !isSame(known, plan))
      changed.push({ plan, said: membersThatDiffer(known, plan) });
  }
  return {
    added: after.filter((plan) => old?.has(placeOf(plan)) !== true),
    changed,
    removed: before.filter((plan) => now?.has(placeOf(plan)) !== true),
  };
}

/** The names of what a line of a forwarder says. */
const WORDS: Readonly<Partial<Record<keyof ForwarderPlan, string>>> = {
  queues: '-q',
  timeoutS: '-t',
  idleS: '-i',
  exitsWhenEmpty: '-e',
  keepsFailures: '-d',
  isOutside: '-n',
  fireDelayS: '-f',
  blockTimeS: '-b',
  instances: 'MIN',
  instancesMax: 'MAX',
  restart: 'RESTART',
  maxGen: 'MAXGEN',
  graceS: 'GRACE',
  rcmd: 'RCMD',
  grpno: 'GRPNO',
  space: 'its queue space',
};

function membersThatDiffer(before: ForwarderPlan, after: ForwarderPlan): string {
  const keys = (Object.keys(after) as (keyof ForwarderPlan)[]).filter(
    (key) => !isSame(before[key], after[key]),
  );
  return keys
    .filter((key) => key !== 'line')
    .map((key) => `${WORDS[key] ?? key} ${shownValue(before[key])} → ${shownValue(after[key])}`)
    .join(', ');
}

function serviceChanges(before: readonly ServicePlan[], after: readonly ServicePlan[]): string[] {
  const [old, now] = [linesByName(before), linesByName(after)];
  return [...new Set([...old.keys(), ...now.keys()])].filter((name) => !isSame(old.get(name), now.get(name)));
}

function linesByName(plans: readonly ServicePlan[]): Map<string, ServicePlan[]> {
  const lines = new Map<string, ServicePlan[]>();
  for (const plan of plans) lines.set(plan.name, [...(lines.get(plan.name) ?? []), plan]);
  return lines;
}

function otherServers(before: readonly ServerPlan[], after: readonly ServerPlan[]): string[] {
  const [old, now] = [before.filter(isOther), after.filter(isOther)];
  return [
    ...now
      .filter((server) => !old.some((other) => isSame(other, server)))
      .map((server) => `server ${nameOf(server)}: its line in *SERVERS`),
    ...old
      .filter((server) => !now.some((other) => placeOf(other) === placeOf(server)))
      .map((server) => `server ${nameOf(server)} is no longer in the file`),
  ];
}

function isOther({ kind }: ServerPlan): boolean {
  return kind === 'application' || kind === 'system';
}

function nameOf(server: ServerPlan): string {
  return `${server.name} ${placeOf(server)}`;
}

/** Equal but for the places where things stand. */
function isSame(before: unknown, after: unknown): boolean {
  return withoutPlaces(before) === withoutPlaces(after);
}

const PLACES: readonly string[] = ['line', 'column', 'file'];

function withoutPlaces(value: unknown): string {
  return JSON.stringify([value], (key, member: unknown) => (PLACES.includes(key) ? undefined : member));
}

function shownValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(shownValue).join(',');
  if (value === '' || value === null || value === undefined) return 'none';
  if (typeof value !== 'object') return JSON.stringify(value).replaceAll('"', '');
  if ('host' in value && 'port' in value) return `//${String(value.host)}:${String(value.port)}`;
  return Object.values(value).map(String).join(' ');
}

/** A warning without its line: the same one may stand further down now. */
function withoutPlace(warning: string): string {
  return warning.replace(/:\d+:\d+:/, ':');
}

/** Where things stand in the file. */
class Places {
  private readonly domain: Domain;
  private readonly lmid: string;

  constructor(domain: Domain, lmid: string) {
    this.domain = domain;
    this.lmid = lmid;
  }

  fault(at: Spot | null, message: string): Fault {
    const { line, column } = at ?? { line: 0, column: 0 };
    return { file: this.domain.file, line, column, word: '', message };
  }

  /** The machine's own before that of RESOURCES. */
  parameter(key: string): { at: Spot | null; name: string } {
    const { machines, resources } = this.domain;
    const names = PARAMETERS[key] ?? [];
    const machine = machines.find(({ lmid }) => lmid === this.lmid);
    const entries: Entry[] = [...(machine === undefined ? [] : [machine.entry]), resources.entry];
    for (const entry of entries) {
      for (const name of names) {
        const found = findParameter(entry, name);
        if (found !== undefined) return { at: found.value, name };
      }
    }
    return { at: null, name: names[0] ?? key };
  }

  group(name: string): Spot | null {
    const found = this.domain.groups.find((group) => group.name === name);
    return found === undefined ? null : (findParameter(found.entry, 'OPENINFO')?.value ?? found);
  }

  server(isMeant: (server: Server) => boolean): Spot | null {
    const found = this.domain.servers.find(isMeant);
    return found === undefined ? null : (findParameter(found.entry, 'CLOPT')?.value ?? found);
  }
}

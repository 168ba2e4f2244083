// Which unfilled macros matter to a machine, or to several: those in values it acts on, and those that decide what belongs to it. TUXDIR or an
// application server's CLOPT may keep theirs. Must not know how a macro is written (values.ts).

import { findParameter } from './checker.ts';
import { sortFaults, type Fault } from './fault.ts';
import type { Domain, Group, Machine, Server } from './model.ts';
import { PARAMETERS } from './parameters.ts';
import type { Entry, Value } from './parser.ts';
import type { SectionName } from './sections.ts';

export interface Hosted {
  readonly machines: readonly Machine[];
  readonly groups: readonly Group[];
  readonly servers: readonly Server[];
}

interface HasEntry {
  readonly entry: Entry;
}

export function macrosThatMatter(domain: Domain, { machines, groups, servers }: Hosted): Fault[] {
  const roles = servers.filter(({ role }) => role.kind !== 'application' && role.kind !== 'system');
  const names = new Set(groups.map((group) => group.name));
  const spaces = domain.spaces.filter((space) => names.has(space.group));
  const spaceNames = new Set(spaces.map((space) => space.name));
  const queues = domain.queues.filter((queue) => spaceNames.has(queue.space));
  const acting = [
    ...placing(domain),
    ...effective('RESOURCES', [domain.resources]),
    ...effective('MACHINES', machines),
    ...effective('GROUPS', groups.filter(isQueued)),
    ...effective('SERVERS', roles),
    ...effective('SERVICES', domain.services),
    ...effective('QSPACES', spaces),
    ...effective('QUEUES', queues),
    ...[...groups.filter(isQueued), ...domain.services, ...spaces, ...queues].map(({ entry }) => entry.name),
  ];
  return sortFaults([...new Set(acting)].flatMap((value) => domain.macrosOf.get(value) ?? []));
}

/** Values that say which machine, group or space something belongs to: until they are known nothing can be left out safely. */
function placing(domain: Domain): Value[] {
  const several = domain.machines.length > 1;
  return [
    ...(several ? domain.machines.flatMap(({ entry }) => [entry.name, ...values([entry], ['LMID'])]) : []),
    ...values(domain.groups.map(entryOf), ['LMID', 'TMSNAME']),
    ...values(domain.servers.map(entryOf), ['SRVGRP']),
    ...values(domain.spaces.map(entryOf), ['SRVGRP']),
    ...values(domain.queues.map(entryOf), ['QSPACE']),
  ];
}

function isQueued({ entry }: Group): boolean {
  return findParameter(entry, 'TMSNAME')?.value.text === 'TMS_QM';
}

function entryOf({ entry }: HasEntry): Entry {
  return entry;
}

function effective(section: SectionName, items: readonly HasEntry[]): Value[] {
  const rules = Object.entries(PARAMETERS[section] ?? {}).filter(([, rule]) => rule.status === 'effective');
  return values(
    items.map(entryOf),
    rules.map(([key]) => key),
  );
}

function values(entries: readonly Entry[], keys: readonly string[]): Value[] {
  return entries.flatMap((entry) => keys.flatMap((key) => findParameter(entry, key)?.value ?? []));
}

// The checked model as plain values for `tmqueue check --json`: every parameter under its UBBCONFIG keyword, defaults filled in. Owns the
// shape that docs/check.md describes: keys in capitals are the file's own, those in small letters are ours. A value that holds an unfilled
// macro is the text as it stands. Ask only for a Domain without faults.

import { findParameter } from './checker.ts';
import { defaultTicks, type TimerKey } from './machines.ts';
import type { Domain, Role } from './model.ts';
import { PARAMETERS, type Rule } from './parameters.ts';
import type { Entry } from './parser.ts';
import type { SectionName } from './sections.ts';
import { convert } from './values.ts';

/** A list is several names; null is "none", or a default that only the operating system knows. */
export type PrintedValue = string | number | boolean | readonly string[] | null;
export type PrintedValues = Readonly<Record<string, PrintedValue>>;

export interface PrintedEntry {
  readonly name: string;
  readonly line: number;
  readonly parameters: PrintedValues;
}

export interface PrintedGroup extends PrintedEntry {
  /** null: it holds no queue space. */
  readonly queueSpace: { readonly device: string; readonly space: string } | null;
}

export interface PrintedServer extends PrintedEntry {
  /** What CLOPT says. */
  readonly role: Role;
}

export interface PrintedModel {
  readonly RESOURCES: PrintedValues;
  readonly MACHINES: readonly PrintedEntry[];
  readonly GROUPS: readonly PrintedGroup[];
  readonly SERVERS: readonly PrintedServer[];
  readonly SERVICES: readonly PrintedEntry[];
  readonly ROUTING: readonly PrintedEntry[];
  readonly QSPACES: readonly PrintedEntry[];
  readonly QUEUES: readonly PrintedEntry[];
}

/** The owner and the mode of a process: nobody knows them before it runs. */
const UNKNOWN: PrintedValues = { UID: null, GID: null };
/** A machine has those of RESOURCES unless it gives its own [spec 6.3]. */
const INHERITED = ['UID', 'GID', 'PERM', 'MAXACCESSERS', 'MAXCONV', 'MAXGTT'];
const TIMERS: readonly TimerKey[] = ['BLOCKTIME', 'SANITYSCAN', 'BBLQUERY', 'DBBLWAIT'];

export function printModel(domain: Domain): PrintedModel {
  const { entry, scanUnitS } = domain.resources;
  const timers = TIMERS.map((key) => [key, defaultTicks(key, scanUnitS)] as const);
  const resources = printValues('RESOURCES', entry, { ...UNKNOWN, ...Object.fromEntries(timers) });
  const inherited = Object.fromEntries(INHERITED.map((key) => [key, resources[key] ?? null]));
  return {
    RESOURCES: resources,
    MACHINES: domain.machines.map((machine) => printEntry('MACHINES', machine.entry, inherited)),
    GROUPS: domain.groups.map((group) => ({
      ...printEntry('GROUPS', group.entry),
      queueSpace: group.queueSpace ?? null,
    })),
    SERVERS: domain.servers.map((server) => ({
      ...printEntry('SERVERS', server.entry, { MAX: server.max, SEQUENCE: null }),
      role: server.role,
    })),
    SERVICES: domain.services.map((service) => printEntry('SERVICES', service.entry)),
    ROUTING: domain.routing.map((criterion) => printEntry('ROUTING', criterion)),
    QSPACES: domain.spaces.map((space) => printEntry('QSPACES', space.entry)),
    QUEUES: domain.queues.map((queue) => printEntry('QUEUES', queue.entry)),
  };
}

function printEntry(section: SectionName, entry: Entry, defaults: PrintedValues = {}): PrintedEntry {
  const { text, line } = entry.name;
  return { name: text, line, parameters: printValues(section, entry, defaults) };
}

function printValues(section: SectionName, entry: Entry, defaults: PrintedValues): PrintedValues {
  const printed: Record<string, PrintedValue> = {};
  for (const [key, rule] of Object.entries(PARAMETERS[section] ?? {})) {
    const parameter = findParameter(entry, key);
    if (parameter === undefined) {
      // Parameters that are taken with any value have no default.
      if (rule.type !== 'anything')
        printed[key] = key in defaults ? (defaults[key] ?? null) : fallbackOf(rule);
      continue;
    }
    const converted = convert(rule, parameter.value);
    if (!converted.ok) printed[key] = parameter.value.text;
    else if (isList(rule) && typeof converted.value === 'string') printed[key] = converted.value.split(',');
    else printed[key] = converted.value;
  }
  return printed;
}

/** No name, and no text where an empty one is not legal: none. */
function fallbackOf(rule: Rule): PrintedValue {
  const wantsText = rule.type === 'names' || (rule.type === 'text' && rule.min > 0);
  return wantsText && rule.fallback === '' ? null : rule.fallback;
}

function isList(rule: Rule): boolean {
  return rule.type === 'names' && rule.countMax > 1;
}

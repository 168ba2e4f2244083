// A syntax tree to the checked Domain: every section in turn, all faults in one run. Owns the order of the checks; each section's own
// rules are in machines.ts, servers.ts, services.ts and queues.ts. Must not know where the bytes came from.

import { Checker } from './checker.ts';
import { type Environment, expandTree } from './expand.ts';
import { shown, sortFaults } from './fault.ts';
import { buildGroups, buildMachines, buildResources } from './machines.ts';
import type { Domain, Group, Queue, Server, Space } from './model.ts';
import { parse, type Section, spotInside, type SyntaxTree } from './parser.ts';
import { buildQueues, buildSpaces } from './queues.ts';
import { checkSections, type SectionName } from './sections.ts';
import { buildServers } from './servers.ts';
import { buildServices } from './services.ts';

/** What to read: the bytes of a file, its name for messages, its absolute folder. */
export interface Source {
  readonly file: string;
  readonly directory: string;
  readonly bytes: Uint8Array;
  /** With --expand-env: the variables that values may name. */
  readonly env?: Environment | undefined;
}

export function parseDomain(source: Source): Domain {
  const tree = parse(source.file, source.bytes);
  return buildDomain(source.env === undefined ? tree : expandTree(tree, source.env), source.directory);
}

export function buildDomain(tree: SyntaxTree, directory: string): Domain {
  const checker = new Checker(tree);
  checkSections(tree, checker.faults);
  for (const section of tree.sections) checker.checkSection(section);
  const find = (name: SectionName): Section | undefined =>
    tree.sections.find((section) => section.name === name);

  const resources = buildResources(checker, find('RESOURCES'));
  const machines = buildMachines(checker, find('MACHINES'), resources);
  const groups = buildGroups(checker, find('GROUPS'), machines);
  const servers = buildServers(checker, find('SERVERS'), groups);
  const services = buildServices(checker, find('SERVICES'), { groups, routing: find('ROUTING') });
  const spaces = buildSpaces(checker, find('QSPACES'), groups);
  const queues = buildQueues(checker, find('QUEUES'), spaces);
  warnOfForwarders(checker, { servers, groups, spaces, queues });

  const warnings = tree.warnings.map((warning) => ({ ...warning, group: undefined }));
  return {
    file: tree.file,
    directory,
    resources,
    machines,
    groups,
    servers,
    services,
    routing: find('ROUTING')?.entries ?? [],
    spaces,
    queues,
    faults: sortFaults([...tree.faults, ...checker.faults.sorted()]),
    warnings: sortFaults([...warnings, ...checker.warnings()]),
    notes: checker.remarks(),
    notYet: checker.notYet(),
    macros: checker.macros(),
    macrosOf: checker.macrosOf,
  };
}

interface Queued {
  readonly servers: readonly Server[];
  readonly groups: readonly Group[];
  readonly spaces: readonly Space[];
  readonly queues: readonly Queue[];
}

/** A forwarded queue that a declared space does not list may have been made by qmadmin: a warning, no fault. */
function warnOfForwarders(checker: Checker, { servers, groups, spaces, queues }: Queued): void {
  const spaceOf = new Map(groups.map((group) => [group.name, group.queueSpace?.space]));
  const declared = new Set(spaces.map(({ name, group }) => `${name}\n${group}`));
  const known = new Set(queues.map(({ name, space }) => `${space}\n${name}`));
  for (const server of servers) {
    if (server.role.kind !== 'tmqforward') continue;
    const space = spaceOf.get(server.group);
    if (!declared.has(`${space}\n${server.group}`)) continue;
    for (const name of server.role.queues) {
      if (known.has(`${space}\n${name}`)) continue;
      const clopt = server.entry.own.find((parameter) => parameter.key.text === 'CLOPT')?.value;
      const at = clopt === undefined ? server : spotInside(clopt, Math.max(0, clopt.text.indexOf(name)));
      const message = `queue ${shown(name)} is no queue of *QUEUES in ${shown(space ?? '')}; it must be created by qmadmin`;
      checker.warn({ at, word: name, group: server.group }, message);
    }
  }
}

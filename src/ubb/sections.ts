// Which sections a UBBCONFIG may have, and in which order [spec 6.1, DESIGN 2]. Owns the table of sections and the check of their
// order; must not know the parameters inside them.

import { type FaultList, type Finding, shown, type Spot } from './fault.ts';
import type { SyntaxTree } from './parser.ts';

export type SectionName =
  | 'RESOURCES'
  | 'MACHINES'
  | 'GROUPS'
  | 'NETGROUPS'
  | 'NETWORK'
  | 'RMS'
  | 'SERVERS'
  | 'SERVICES'
  | 'INTERFACES'
  | 'ROUTING'
  | 'QSPACES'
  | 'QUEUES';

export interface SectionRule {
  readonly required: boolean;
  /** Sections that must stand before it, when the file has them. */
  readonly after: readonly SectionName[];
  /** Accepted as a whole without being looked into. */
  readonly meaningless: boolean;
}

const section = (after: readonly SectionName[], rest: Partial<SectionRule> = {}): SectionRule => ({
  required: false,
  meaningless: false,
  ...rest,
  after,
});

export const SECTIONS: Readonly<Record<SectionName, SectionRule>> = {
  RESOURCES: section([], { required: true }),
  MACHINES: section(['RESOURCES'], { required: true }),
  GROUPS: section(['RESOURCES', 'MACHINES']),
  NETGROUPS: section(['RESOURCES', 'MACHINES'], { meaningless: true }),
  NETWORK: section(['RESOURCES', 'MACHINES'], { meaningless: true }),
  RMS: section(['RESOURCES', 'MACHINES'], { meaningless: true }),
  SERVERS: section(['RESOURCES', 'MACHINES', 'GROUPS']),
  SERVICES: section(['RESOURCES', 'MACHINES', 'GROUPS']),
  INTERFACES: section(['RESOURCES', 'MACHINES', 'GROUPS'], { meaningless: true }),
  ROUTING: section(['RESOURCES', 'MACHINES', 'GROUPS']),
  QSPACES: section(['RESOURCES', 'MACHINES', 'GROUPS']),
  QUEUES: section(['RESOURCES', 'MACHINES', 'GROUPS', 'QSPACES']),
};

export function isSectionName(name: string): name is SectionName {
  return Object.hasOwn(SECTIONS, name);
}

/** Unknown, repeated, misplaced and missing sections. */
export function checkSections(tree: SyntaxTree, faults: FaultList): void {
  const firstLine = new Map<string, number>();
  for (const { name, line, column } of tree.sections) {
    const at = { line, column };
    const before = firstLine.get(name);
    if (!isSectionName(name)) {
      const legal = Object.keys(SECTIONS).join(' ');
      faults.add(finding(at, name, `*${shown(name)} is no section of a UBBCONFIG; legal: ${legal}`));
    } else if (before !== undefined) {
      faults.add(finding(at, name, `*${name} stands twice, first on line ${before}; legal is once`));
    } else {
      const late = SECTIONS[name].after.find((other) => comesLater(tree, other, line));
      if (late !== undefined) {
        faults.add(
          finding(
            at,
            name,
            `*${name} is out of order; legal: ${SECTIONS[name].after.join(', ')} stand before it`,
          ),
        );
      }
    }
    if (before === undefined) firstLine.set(name, line);
  }
  if (!tree.complete) return;
  for (const [name, rule] of Object.entries(SECTIONS)) {
    if (!rule.required || firstLine.has(name)) continue;
    faults.add(finding({ line: 0, column: 0 }, name, `section *${name} is missing`));
  }
}

function finding(at: Spot, name: string, message: string): Finding {
  return { at, word: `*${name}`, message };
}

/** The other section stands only after this line. */
function comesLater(tree: SyntaxTree, other: SectionName, line: number): boolean {
  const found = tree.sections.find((candidate) => candidate.name === other);
  return found !== undefined && found.line > line;
}

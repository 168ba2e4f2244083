// `tmqueue check FILE`: every finding about a configuration, and the checked model as JSON. Looks at the file alone: no directory, device or
// program that it names is touched. The exit code says whether the file has faults; what only this release refuses is no fault.
import { FINDINGS_MAX, formatFault, sortFaults, type Fault } from '../ubb/fault.ts';
import type { Domain, Remark } from '../ubb/model.ts';
import { obstaclesOf } from '../ubb/plan.ts';
import { printModel } from '../ubb/printed-model.ts';
import { readDomain } from '../ubb/read.ts';
import { EXIT } from './exit.ts';

export interface CheckOptions {
  readonly verbose?: boolean;
  readonly json?: boolean;
  readonly expandEnv?: boolean;
}

/** What was found, by what it means for a start. */
interface Findings {
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
  /** For these `start` refuses the file on the machine that they belong to. */
  readonly refusals: readonly Fault[];
  /** Unfilled macros that no machine acts on. */
  readonly otherMacros: readonly Fault[];
  readonly remarks: readonly Remark[];
}

export function check(file: string, options: CheckOptions): Promise<number> {
  const domain = readDomain(file, options.expandEnv === true ? { env: process.env } : {});
  const findings = find(domain);
  const text =
    options.json === true
      ? `${JSON.stringify(toJson(domain, findings), null, 2)}\n`
      : show(domain, findings, options.verbose === true);
  process.stdout.write(text);
  return Promise.resolve(domain.faults.length > 0 ? EXIT.REFUSED : EXIT.OK);
}

function find(domain: Domain): Findings {
  const { faults, warnings } = domain;
  // A file with faults has no plan; nothing is refused for more than the faults then.
  const refusals = faults.length > 0 ? [] : obstaclesOf(domain);
  const taken = new Set(refusals.map(placeOf));
  const otherMacros = domain.macros.filter((macro) => !taken.has(placeOf(macro)));
  return { faults, warnings, refusals, otherMacros, remarks: domain.notes };
}

function placeOf({ line, column, message }: Fault): string {
  return `${line}:${column}:${message}`;
}

function show(domain: Domain, findings: Findings, verbose: boolean): string {
  const { faults, warnings, refusals, otherMacros, remarks } = findings;
  const lines = sortFaults([
    ...faults,
    ...marked('warning', warnings),
    ...marked('start refuses this', refusals),
    ...marked('note', otherMacros),
  ]).map(formatFault);
  if (verbose) {
    lines.push(...section('No meaning here', remarks, 'no meaning here'));
    lines.push(...section('Not yet in effect', remarks, 'not yet in effect'));
  }
  return [...lines, summary(domain, findings, verbose), ''].join('\n');
}

function marked(mark: string, faults: readonly Fault[]): Fault[] {
  return faults.map((fault) => ({ ...fault, message: `${mark}: ${fault.message}` }));
}

function section(title: string, remarks: readonly Remark[], status: Remark['status']): string[] {
  const found = remarks.filter((remark) => remark.status === status);
  return [`${title}: ${found.length === 0 ? 'nothing' : found.length}`, ...found.map(formatFault)];
}

function summary(domain: Domain, findings: Findings, verbose: boolean): string {
  const { faults, warnings, refusals, otherMacros, remarks } = findings;
  const all = (found: readonly Fault[], noun: string): string =>
    count(found.length, noun) + (found.length < FINDINGS_MAX ? '' : ' or more (the rest is not listed)');
  const parts = [`${domain.file}: ${faults.length === 0 ? 'no faults' : all(faults, 'fault')}`];
  if (warnings.length > 0) parts.push(all(warnings, 'warning'));
  if (refusals.length > 0) parts.push(`start refuses it for ${count(refusals.length, 'reason')}`);
  if (otherMacros.length > 0) parts.push(`${count(otherMacros.length, 'other macro')} not filled in`);
  if (faults.length === 0) parts.push(contents(domain));
  if (!verbose && remarks.length > 0)
    parts.push(
      `-v lists ${count(remarks.length, 'thing')} that ${remarks.length === 1 ? 'does' : 'do'} nothing here`,
    );
  return parts.join('; ');
}

function contents({ machines, groups, servers, services, spaces, queues }: Domain): string {
  return [
    count(machines.length, 'machine'),
    count(groups.length, 'group'),
    count(servers.length, 'server'),
    count(services.length, 'service'),
    count(spaces.length, 'queue space'),
    count(queues.length, 'queue'),
  ].join(', ');
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** The shape that docs/check.md describes. */
function toJson(domain: Domain, findings: Findings): Record<string, unknown> {
  return {
    file: domain.file,
    ok: findings.faults.length === 0,
    faults: findings.faults.map(bare),
    warnings: findings.warnings.map(bare),
    startRefuses: findings.refusals.map(bare),
    otherMacros: findings.otherMacros.map(bare),
    noMeaningHere: findings.remarks.filter(({ status }) => status === 'no meaning here').map(bare),
    notYetInEffect: findings.remarks.filter(({ status }) => status === 'not yet in effect').map(bare),
    model: findings.faults.length === 0 ? printModel(domain) : null,
  };
}

function bare({ line, column, word, message }: Fault): Fault | Record<string, unknown> {
  return { line, column, word, message };
}

// Which servers of the daemon's configuration tmboot and tmshutdown mean, by the limiting options that both have [tmboot(1)]: values of one
// option are alternatives, several options must all fit. Pure; what nothing fits is a RefusedError that says what there is.
import { InvalidArgumentError, type Command } from 'commander';
import type { ServerLine, ServerList } from '../../clients/typescript/index.ts';
import { UsageError } from './exit.ts';

/** The options as commander keeps them. */
export interface ChoiceWords {
  /** LMID */
  readonly l?: readonly string[];
  /** SRVGRP */
  readonly g?: readonly string[];
  /** SRVID */
  readonly i?: readonly number[];
  /** The name of the line. */
  readonly s?: readonly string[];
  /** All of *SERVERS. */
  readonly S?: true;
  /** Administrative servers: of all machines, of the master, of one machine. */
  readonly A?: true;
  readonly M?: true;
  readonly B?: readonly string[];
  /** TMS of a group. */
  readonly T?: readonly string[];
}

/** One instance of one line. */
export interface Instance {
  readonly line: ServerLine;
  readonly srvid: number;
  /** As messages call it. */
  readonly label: string;
}

export interface Chosen {
  readonly instances: readonly Instance[];
  /** What is part of the daemon: each as messages call it. */
  readonly administration: readonly string[];
}

/** What was asked for does not exist. */
export class RefusedError extends Error {
  override name = 'RefusedError';
}

const SRVID_MAX = 30_000;
const SHOWN_MAX = 20;

export function addChoice(command: Command): Command {
  return command
    .option('-l <lmid>', 'only on this machine: the LMID of the daemon', collect)
    .option('-g <group>', 'only of this group (SRVGRP)', collect)
    .option(
      '-i <srvid>',
      'only this SRVID, in every group that has it; also one between MIN and MAX',
      collectIds,
    )
    .option('-s <server>', 'only lines of this name, e.g. TMQFORWARD', collect)
    .option('-S', 'all servers of *SERVERS')
    .option('-A', 'all administrative servers: they are part of the daemon')
    .option('-M', 'those of the master machine: the same')
    .option('-B <lmid>', 'that of this machine: the same', collect)
    .option('-T <group>', 'the transaction manager servers of this group: part of the daemon', collect);
}

/** Whether none of the limiting options was given: everything is meant. */
export function meansAll({ l, g, i, s, S, A, M, B, T }: ChoiceWords): boolean {
  return [l, g, i, s, S, A, M, B, T].every((given) => given === undefined);
}

/** Whether servers were named one by one, so that one which cannot be had is a failure. */
export function namesServers({ i, s }: ChoiceWords): boolean {
  return i !== undefined || s !== undefined;
}

/** @param until how many instances of a line are meant when none is named: MIN or MAX */
export function choose(words: ChoiceWords, { lmid, servers }: ServerList, until: 'min' | 'max'): Chosen {
  const { l, g, i, s, S, A, M, B, T } = words;
  for (const machine of [...(l ?? []), ...(B ?? [])]) {
    if (machine !== lmid)
      throw new RefusedError(
        `the daemon runs on machine ${lmid}; of ${machine} it knows nothing: ask its own daemon`,
      );
  }
  const groups = [...new Set(servers.map(({ group }) => group))];
  for (const group of [...(g ?? []), ...(T ?? [])]) {
    if (!groups.includes(group))
      throw new RefusedError(`no server of machine ${lmid} is in group ${group}; there are ${list(groups)}`);
  }
  const limits = l !== undefined || g !== undefined || i !== undefined || s !== undefined;
  const wantsServers = limits || S === true || meansAll(words);
  const fits = ({ group, name }: ServerLine): boolean =>
    (g === undefined || g.includes(group)) &&
    (s === undefined || s.includes(baseOf(name)) || s.includes(name));
  const instances = wantsServers
    ? servers.filter(fits).flatMap((line) => idsOf(line, i, until).map((srvid) => instanceOf(line, srvid)))
    : [];
  if (limits && instances.length === 0)
    throw new RefusedError(`no such server: ${asked(words)}; ${found(servers)}`);
  const administration = [
    ...(A === true || M === true || B !== undefined || meansAll(words) ? [`administration of ${lmid}`] : []),
    ...(T ?? []).map((group) => `TMS of ${group}`),
  ];
  return { instances, administration };
}

function idsOf(
  { srvid, min, max }: ServerLine,
  ids: readonly number[] | undefined,
  until: 'min' | 'max',
): number[] {
  if (ids !== undefined) return [...new Set(ids)].filter((id) => id >= srvid && id < srvid + max);
  return Array.from({ length: until === 'min' ? min : max }, (_, n) => srvid + n);
}

function instanceOf(line: ServerLine, srvid: number): Instance {
  return { line, srvid, label: `${line.name} ${line.group}/${srvid}` };
}

/** The last part of a path. */
function baseOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

function asked({ g = [], i = [], s = [] }: ChoiceWords): string {
  return [
    ...s.map((name) => `-s ${name}`),
    ...g.map((group) => `-g ${group}`),
    ...i.map((id) => `-i ${id}`),
  ].join(' ');
}

function found(servers: readonly ServerLine[]): string {
  return `there are ${list(servers.map(({ name, group, srvid }) => `${name} ${group}/${srvid}`))}`;
}

function list(words: readonly string[]): string {
  if (words.length === 0) return 'none';
  const some = words.slice(0, SHOWN_MAX).join(', ');
  return words.length <= SHOWN_MAX ? some : `${some} … (${words.length} in all)`;
}

function collect(word: string, before: string[] | undefined): string[] {
  if (word === '') throw new InvalidArgumentError('It is empty.');
  return [...(before ?? []), word];
}

function collectIds(word: string, before: number[] | undefined): number[] {
  const value = /^\d+$/.test(word) ? Number(word) : 0;
  if (value >= 1 && value <= SRVID_MAX) return [...(before ?? []), value];
  throw new InvalidArgumentError(`It must be a number 1..${SRVID_MAX}.`);
}

/** Options of Tuxedo's that are refused, and what would be right. */
export type NotHere = Readonly<Record<string, string>>;

export function refuseNotHere(options: Readonly<Record<string, unknown>>, notHere: NotHere): void {
  for (const [flags, why] of Object.entries(notHere)) {
    const name = flags.charAt(1);
    if (options[name] !== undefined) throw new UsageError(`-${name} ${why}`);
  }
}

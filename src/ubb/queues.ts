// QSPACES and QUEUES to their part of the model [DESIGN 2, spec 5.3, 5.4]. Owns the checks between queue spaces, their groups and
// their queues, and what of a queue's attributes this release refuses. Must not know what is created at start.

import { LIMIT } from '../../proto/codes.ts';
import { type Checker, EntryView } from './checker.ts';
import { shown, shownList } from './fault.ts';
import type { Group, Queue, Space } from './model.ts';
import type { Entry, Section } from './parser.ts';
import {
  nameFits,
  type Parsed,
  parseExpiry,
  parseOrder,
  parseOutOfOrder,
  parseThreshold,
  thresholdProblem,
} from '../queue/words.ts';
import { byteLength } from './values.ts';

export function buildSpaces(
  checker: Checker,
  section: Section | undefined,
  groups: readonly Group[],
): Space[] {
  const spaces = (section?.entries ?? []).map((entry) => buildSpace(checker, entry));
  const byName = new Map(groups.map((group) => [group.name, group]));
  const seen = new Map<string, Space>();
  for (const space of spaces) {
    checkSpaceGroup(checker, space, byName.get(space.group));
    const key = `${space.group}\n${space.name}`;
    const first = seen.get(key);
    if (first === undefined) seen.set(key, space);
    else {
      const what = `queue space ${shown(space.name)} stands twice for group ${shown(space.group)}`;
      const message = `${what}, first on line ${first.line}; legal is once`;
      checker.fault(space, space.name, message);
    }
  }
  checkSpaceNames(checker, groups);
  if (section !== undefined) warnOfUndeclared(checker, groups, spaces);
  return spaces;
}

function buildSpace(checker: Checker, entry: Entry): Space {
  const view = new EntryView(checker, 'QSPACES', entry);
  view.checkRequired();
  const { text, line, column } = entry.name;
  checkName(checker, entry, LIMIT.TMQSNAMELEN);
  return {
    entry,
    name: text,
    group: view.text('SRVGRP'),
    errorQueue: view.text('ERRORQ'),
    limits: {
      pages: view.number('PAGES'),
      queues: view.number('QUEUES'),
      transactions: view.number('TRANS'),
      processes: view.number('PROCS'),
      messages: view.number('MSGS'),
      actions: view.number('ACTIONS'),
      nonPersistentBytes: view.number('NONPERSIST'),
      blocking: view.number('BLOCKING'),
    },
    line,
    column,
  };
}

/** With *QSPACES in the file, a group's space without a line there was perhaps forgotten, or its line taken out. */
function warnOfUndeclared(checker: Checker, groups: readonly Group[], spaces: readonly Space[]): void {
  const declared = new Set(spaces.map((space) => space.group));
  for (const { name, queueSpace, entry } of groups) {
    if (queueSpace === undefined || declared.has(name)) continue;
    const view = new EntryView(checker, 'GROUPS', entry);
    if (view.isMacro('OPENINFO') || view.isMacro('TMSNAME')) continue;
    const { space } = queueSpace;
    const message = `queue space ${shown(space)} of group ${shown(name)} has no line in *QSPACES: it must exist, and is used as it is`;
    checker.warn({ at: view.spot('OPENINFO'), word: space, group: name }, message);
  }
}

/** Blank, slash and letters of any script are legal; a control character would spoil every listing. */
function checkName(checker: Checker, entry: Entry, bytesMax: number): void {
  const { text } = entry.name;
  if (nameFits(text, bytesMax)) return;
  const message = `name "${shown(text)}" is not legal (${byteLength(text)} bytes); legal: 1..${bytesMax} bytes without control characters`;
  checker.fault(entry.name, text, message);
}

function checkSpaceGroup(checker: Checker, space: Space, group: Group | undefined): void {
  const at = new EntryView(checker, 'QSPACES', space.entry).spot('SRVGRP');
  if (space.group === '') return;
  if (group === undefined) {
    const message = `SRVGRP: group ${shown(space.group)} does not exist; legal: a group of *GROUPS`;
    return checker.missing(at, space.group, message);
  }
  const owner = new EntryView(checker, 'GROUPS', group.entry);
  if (owner.isMacro('TMSNAME') || owner.isMacro('OPENINFO')) return;
  if (group.queueSpace === undefined) {
    // A wrong OPENINFO was reported where it stands.
    if (owner.text('TMSNAME') === 'TMS_QM' && owner.given('OPENINFO') && owner.text('OPENINFO') !== 'NONE')
      return;
    const message = `SRVGRP: group ${shown(space.group)} holds no queue space; legal: a group with TMSNAME=TMS_QM and OPENINFO`;
    checker.missing(at, space.group, message);
  } else if (group.queueSpace.space !== space.name) {
    const legal = `${shown(group.queueSpace.space)}, the space in its OPENINFO`;
    const message = `queue space ${shown(space.name)} is not the one of group ${shown(space.group)}; legal: ${legal}`;
    checker.fault(space.entry.name, space.name, message);
  }
}

/** One space belongs to one group; two spaces of one name on a machine could not be told apart. */
function checkSpaceNames(checker: Checker, groups: readonly Group[]): void {
  const owners = new Map<string, Group>();
  for (const group of groups) {
    const { queueSpace } = group;
    if (queueSpace === undefined) continue;
    const key = `${group.lmids[0] ?? ''}\n${queueSpace.space}`;
    const owner = owners.get(key);
    const at = new EntryView(checker, 'GROUPS', group.entry).spot('OPENINFO');
    if (owner === undefined) owners.set(key, group);
    else if (owner.queueSpace?.device === queueSpace.device) {
      const holder = `group ${shown(owner.name)} on line ${owner.line}`;
      const message = `queue space ${shown(queueSpace.space)} belongs to ${holder} already; a space has one group`;
      checker.fault(at, queueSpace.space, message);
    } else checker.later('space name twice', { at, word: queueSpace.space, group: group.name });
  }
}

export function buildQueues(
  checker: Checker,
  section: Section | undefined,
  spaces: readonly Space[],
): Queue[] {
  const byName = new Map<string, Space[]>();
  for (const space of spaces) byName.set(space.name, [...(byName.get(space.name) ?? []), space]);
  const queues = (section?.entries ?? []).map((entry) => buildQueue(checker, entry, byName));
  const seen = new Map<string, Queue>();
  for (const queue of queues) {
    const key = `${queue.space}\n${queue.name}`;
    const first = seen.get(key);
    if (first === undefined) seen.set(key, queue);
    else if (queue.space !== '') {
      const message = `queue ${shown(queue.name)} stands twice in space ${shown(queue.space)}, first on line ${first.line}; legal is once`;
      checker.fault(queue, queue.name, message);
    }
  }
  for (const space of spaces) {
    if (space.errorQueue === '' || seen.has(`${space.name}\n${space.errorQueue}`)) continue;
    const at = new EntryView(checker, 'QSPACES', space.entry).spot('ERRORQ');
    const message = `ERRORQ: ${shown(space.errorQueue)} is no queue of *QUEUES in ${shown(space.name)}; it must be created by qmadmin`;
    checker.warn({ at, word: space.errorQueue, group: space.group }, message);
  }
  return queues;
}

function buildQueue(checker: Checker, entry: Entry, spaces: ReadonlyMap<string, Space[]>): Queue {
  const view = new EntryView(checker, 'QUEUES', entry);
  view.checkRequired();
  checkName(checker, entry, LIMIT.TMQNAMELEN);
  const space = view.text('QSPACE');
  const owners = spaces.get(space) ?? [];
  if (view.given('QSPACE') && owners.length === 0) {
    const legal = shownList([...spaces.keys()]);
    checker.missing(
      view.spot('QSPACE'),
      space,
      `QSPACE: ${shown(space)} is no space of *QSPACES; legal: ${legal}`,
    );
  }
  const { text, line, column } = entry.name;
  const queue: Queue = {
    entry,
    name: text,
    space,
    retries: view.number('RETRIES'),
    delayS: view.number('DELAY'),
    order: word(view, 'ORDER', parseOrder) ?? 'fifo',
    outOfOrder: word(view, 'OUTOFORDER', parseOutOfOrder) ?? 'none',
    policy: view.text('POLICY') === 'nonpersist' ? 'nonpersist' : 'persist',
    expiryS: word(view, 'EXPIRY', parseExpiry) ?? null,
    high: view.text('HIGH'),
    low: view.text('LOW'),
    command: view.text('CMD'),
    nonPersistentHigh: view.text('NHIGH'),
    nonPersistentLow: view.text('NLOW'),
    nonPersistentCommand: view.text('NCMD'),
    line,
    column,
  };
  checkThresholds(view, { high: 'HIGH', low: 'LOW', units: 'b, B, m or %' });
  checkThresholds(view, { high: 'NHIGH', low: 'NLOW', units: 'b, B or %' });
  return queue;
}

/** A value in one of the languages of queue/words.ts; undefined when it is wrong, which is reported. */
function word<T>(view: EntryView, key: string, parse: (text: string) => Parsed<T>): T | undefined {
  const parsed = parse(view.text(key));
  if (parsed.ok) return parsed.value;
  const parameter = view.find(key);
  if (parameter !== undefined && view.given(key)) {
    const text = view.text(key);
    const message = `${key}: ${text === '' ? 'an empty value' : shown(text)} is not legal; legal: ${parsed.legal}`;
    view.checker.fault(parameter.value, text, message);
  }
  return undefined;
}

function checkThresholds(view: EntryView, keys: { high: string; low: string; units: string }): void {
  const high = word(view, keys.high, parseThreshold);
  const low = word(view, keys.low, parseThreshold);
  if (high === undefined) return;
  if (high.amount === 0 || high.unit === '' || !keys.units.includes(high.unit)) {
    const text = view.text(keys.high);
    return view.checker.fault(
      view.spot(keys.high),
      text,
      `${keys.high}: ${shown(text)} is not legal; legal: more than 0, with ${keys.units}`,
    );
  }
  // A default low limit of 0% fits any unit: only a value that stands there is compared.
  const problem = low === undefined || !view.given(keys.low) ? undefined : thresholdProblem(high, low);
  if (problem === undefined) return;
  const text = view.text(keys.low);
  view.checker.fault(view.spot(keys.low), text, `${keys.low}: ${shown(text)} is not legal; ${problem}`);
}

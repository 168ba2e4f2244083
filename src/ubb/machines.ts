// RESOURCES, MACHINES and GROUPS to their part of the model, with the checks between them [spec 6.2, 6.3]. Must not know servers.

import { type Checker, EntryView } from './checker.ts';
import { shown, shownList } from './fault.ts';
import type { Group, Machine, Resources } from './model.ts';
import { parseOpenInfo } from './openinfo.ts';
import { IDENT_MAX } from './parameters.ts';
import type { Entry, Section } from './parser.ts';
import { byteLength } from './values.ts';

/** About how many seconds a timer takes when it is absent [spec 6.2]; the longest that a number of ticks may give. */
const TIMER_DEFAULT_S = { BLOCKTIME: 60, SANITYSCAN: 120, BBLQUERY: 300, DBBLWAIT: 20 } as const;
const TICKS_MAX_S = 32_767;

export type TimerKey = keyof typeof TIMER_DEFAULT_S;

/** The default of a timer, in SCANUNITs. */
export function defaultTicks(key: TimerKey, scanUnitS: number): number {
  return Math.max(1, Math.round(TIMER_DEFAULT_S[key] / scanUnitS));
}

export function buildResources(checker: Checker, section: Section | undefined): Resources {
  const at = { line: section?.line ?? 0, column: section?.column ?? 0 };
  const name = { text: '*RESOURCES', raw: '*RESOURCES', quoted: false, bad: false, items: [], ...at };
  const entry: Entry = { name, own: section?.parameters ?? [], defaults: [] };
  const view = new EntryView(checker, 'RESOURCES', entry);
  if (section !== undefined) view.checkRequired();
  const scanUnitS = view.number('SCANUNIT');
  if (view.given('SCANUNIT') && scanUnitS % 5 !== 0 && scanUnitS % 2 !== 0) {
    const message = `SCANUNIT: ${scanUnitS} is not legal; legal: a multiple of 5 (or of 2) up to 60`;
    checker.fault(view.spot('SCANUNIT'), `${scanUnitS}`, message);
  }
  for (const key of ['BLOCKTIME', 'SANITYSCAN', 'BBLQUERY', 'DBBLWAIT']) {
    const ticks = view.number(key);
    if (!view.given(key) || ticks * scanUnitS <= TICKS_MAX_S) continue;
    const most = Math.floor(TICKS_MAX_S / scanUnitS);
    const message = `${key}: ${ticks} times SCANUNIT ${scanUnitS} is over ${TICKS_MAX_S} s; legal: 1..${most}`;
    checker.fault(view.spot(key), `${ticks}`, message);
  }
  const security = view.text('SECURITY');
  if (security !== 'NONE') {
    checker.later('security', { at: view.spot('SECURITY'), word: security, group: undefined });
  }
  const ticks = view.given('BLOCKTIME') ? view.number('BLOCKTIME') : defaultTicks('BLOCKTIME', scanUnitS);
  return {
    entry,
    masters: view.text('MASTER') === '' ? [] : view.text('MASTER').split(','),
    model: view.text('MODEL'),
    maxGtt: view.number('MAXGTT'),
    maxTranTimeS: view.number('MAXTRANTIME'),
    notify: view.text('NOTIFY'),
    cmtRet: view.text('CMTRET'),
    scanUnitS,
    blockTimeMs: ticks * scanUnitS * 1000,
    security,
  };
}

export function buildMachines(
  checker: Checker,
  section: Section | undefined,
  resources: Resources,
): Machine[] {
  const machines = (section?.entries ?? []).map((entry) => buildMachine(checker, entry, resources));
  const lmids = new Map<string, Machine>();
  const nodes = new Map<string, Machine>();
  for (const machine of machines) {
    const { lmid, node, entry } = machine;
    const at = new EntryView(checker, 'MACHINES', entry).spot('LMID');
    const sameLmid = lmids.get(lmid);
    const sameNode = nodes.get(node);
    if (lmid !== '' && sameLmid !== undefined) {
      checker.fault(at, lmid, `LMID ${lmid} stands twice, first on line ${sameLmid.line}; legal is once`);
    }
    if (sameNode !== undefined) {
      checker.fault(
        machine,
        node,
        `machine ${shown(node)} stands twice, first on line ${sameNode.line}; legal is once`,
      );
    }
    lmids.set(lmid, sameLmid ?? machine);
    nodes.set(node, sameNode ?? machine);
  }
  if (section !== undefined && machines.length === 0) {
    checker.missing(
      section,
      'MACHINES',
      '*MACHINES has no machine; legal: "node" LMID=id APPDIR="directory" …',
    );
  }
  checkMasters(checker, resources, machines);
  return machines;
}

/** Name of the transaction log, and of its device in APPDIR, when the file names none [spec 6.2]. */
const TLOG = 'TLOG';

function buildMachine(checker: Checker, entry: Entry, resources: Resources): Machine {
  const view = new EntryView(checker, 'MACHINES', entry);
  view.checkRequired();
  const { text, line, column } = entry.name;
  if (text === '' || byteLength(text) > IDENT_MAX) {
    checker.fault(
      entry.name,
      text,
      `machine name ${shown(text)} is not legal; legal: 1..${IDENT_MAX} bytes (uname -n)`,
    );
  }
  const appdir =
    view
      .text('APPDIR')
      .split(':')
      .find((directory) => directory !== '') ?? '';
  if (appdir === '' && view.given('APPDIR')) {
    checker.fault(
      view.spot('APPDIR'),
      view.text('APPDIR'),
      'APPDIR names no directory; legal: "dir" or "dir:dir"',
    );
  }
  const maxGtt = view.given('MAXGTT') ? view.number('MAXGTT') : resources.maxGtt;
  const tlogDevice = view.text('TLOGDEVICE') === '' ? TLOG : view.text('TLOGDEVICE');
  const tlogName = view.given('TLOGNAME') ? view.text('TLOGNAME') : TLOG;
  return { entry, node: text, lmid: view.text('LMID'), appdir, maxGtt, tlogDevice, tlogName, line, column };
}

function checkMasters(checker: Checker, resources: Resources, machines: readonly Machine[]): void {
  const view = new EntryView(checker, 'RESOURCES', resources.entry);
  for (const master of resources.masters) {
    if (machines.some((machine) => machine.lmid === master)) continue;
    const message = `MASTER: ${shown(master)} is no LMID of *MACHINES; legal: ${lmidList(machines)}`;
    checker.missing(view.spot('MASTER'), master, message);
  }
  const second = machines[1];
  if (resources.model === 'SHM' && view.given('MODEL') && second !== undefined) {
    const message = `MODEL SHM allows one machine, ${shown(second.node)} is a second one; legal: MODEL MP, or one machine`;
    checker.fault(second, second.node, message);
  }
}

export function lmidList(machines: readonly Machine[]): string {
  return shownList(machines.map((machine) => machine.lmid));
}

export function buildGroups(
  checker: Checker,
  section: Section | undefined,
  machines: readonly Machine[],
): Group[] {
  const groups = (section?.entries ?? []).map((entry) => buildGroup(checker, entry));
  const names = new Map<string, string>();
  for (const { lmid, line } of machines) names.set(lmid, `LMID ${lmid} on line ${line}`);
  const lmids = new Set(machines.map((machine) => machine.lmid));
  const numbers = new Map<number, Group>();
  for (const group of groups) {
    const view = new EntryView(checker, 'GROUPS', group.entry);
    const taken = names.get(group.name);
    if (taken !== undefined) {
      checker.fault(
        group,
        group.name,
        `the name ${shown(group.name)} is taken by ${taken}; groups and LMIDs need different names`,
      );
    }
    names.set(group.name, taken ?? `group ${group.name} on line ${group.line}`);
    const sameNumber = numbers.get(group.grpno);
    if (view.given('GRPNO') && sameNumber !== undefined) {
      const first = `first in ${shown(sameNumber.name)} on line ${sameNumber.line}`;
      const message = `GRPNO ${group.grpno} stands twice, ${first}; legal: a free number 1..29999`;
      checker.fault(view.spot('GRPNO'), `${group.grpno}`, message);
    }
    if (view.given('GRPNO')) numbers.set(group.grpno, sameNumber ?? group);
    for (const lmid of group.lmids) {
      if (lmids.has(lmid)) continue;
      const message = `LMID: ${shown(lmid)} is no machine of *MACHINES; legal: ${lmidList(machines)}`;
      checker.missing(view.spot('LMID'), lmid, message);
    }
  }
  return groups;
}

function buildGroup(checker: Checker, entry: Entry): Group {
  const view = new EntryView(checker, 'GROUPS', entry);
  view.checkRequired();
  const { text, line, column } = entry.name;
  if (text === '' || byteLength(text) > IDENT_MAX || /[*,:]/.test(text)) {
    const message = `group name ${shown(text)} is not legal; legal: 1..${IDENT_MAX} bytes without * , :`;
    checker.fault(entry.name, text, message);
  }
  return {
    entry,
    name: text,
    lmids: view.text('LMID') === '' ? [] : view.text('LMID').split(','),
    grpno: view.number('GRPNO'),
    queueSpace: queueSpaceOf(checker, view),
    line,
    column,
  };
}

/** Another resource manager's group: its servers are application servers, which connect by themselves. */
function remarkForeign(checker: Checker, view: EntryView): void {
  const manager = view.find('TMSNAME');
  if (manager !== undefined && manager.value.text !== '') {
    const message = 'TMSNAME of *GROUPS has no meaning here unless it is TMS_QM';
    checker.remark('no meaning here', { at: manager.key, word: manager.value.text, message });
  }
  const info = view.find('OPENINFO');
  if (info === undefined || info.value.text === '' || info.value.text === 'NONE') return;
  const message = 'OPENINFO of *GROUPS has no meaning here without TMSNAME=TMS_QM';
  checker.remark('no meaning here', { at: info.key, word: 'OPENINFO', message });
}

/** OPENINFO counts only beside TMSNAME=TMS_QM; any other resource manager's is left alone. */
function queueSpaceOf(checker: Checker, view: EntryView): Group['queueSpace'] {
  if (view.text('TMSNAME') !== 'TMS_QM') {
    if (!view.isMacro('TMSNAME')) remarkForeign(checker, view);
    return undefined;
  }
  const text = view.text('OPENINFO');
  const { name } = view.entry;
  if (text === '' || text === 'NONE') {
    const about = { at: name, word: name.text, group: name.text };
    if (!view.find('OPENINFO')?.value.bad)
      checker.warn(about, `${shown(name.text)} has TMS_QM but no OPENINFO: it holds no queue space`);
    return undefined;
  }
  const info = parseOpenInfo(text);
  if (typeof info === 'string') {
    checker.fault(view.spot('OPENINFO'), text, info);
    return undefined;
  }
  return info;
}

// SERVERS to its part of the model, with the checks between servers and their groups [spec 4.1, 4.2, 6.4]. Must not know how an
// option is written (clopt.ts, roles.ts) nor what a host starts (plan.ts).

import { type Checker, EntryView } from './checker.ts';
import { shown } from './fault.ts';
import type { Group, Role, Server } from './model.ts';
import type { Entry, Section } from './parser.ts';
import { buildRole } from './roles.ts';
import { byteLength } from './values.ts';

/** Characters of a server's name [spec 6.4]. */
const AOUT_MAX = 78;

export function buildServers(
  checker: Checker,
  section: Section | undefined,
  groups: readonly Group[],
): Server[] {
  const byName = new Map(groups.map((group) => [group.name, group]));
  const servers = (section?.entries ?? []).map((entry) => buildServer(checker, entry));
  for (const server of servers) checkGroup(checker, server, byName.get(server.group));
  checkIds(checker, servers);
  checkSets(checker, servers);
  checkAliases(checker, servers, byName);
  return servers;
}

function buildServer(checker: Checker, entry: Entry): Server {
  const view = new EntryView(checker, 'SERVERS', entry);
  view.checkRequired();
  const { text, line, column } = entry.name;
  if (text === '' || byteLength(text) > AOUT_MAX) {
    checker.fault(entry.name, text, `server name ${shown(text)} is not legal; legal: 1..${AOUT_MAX} bytes`);
  }
  const min = view.number('MIN');
  const max = view.given('MAX') ? view.number('MAX') : min;
  if (view.given('MAX') && max < min) {
    // The fault belongs to the one the line itself gives.
    const own = entry.own.some((parameter) => parameter.key.text === 'MAX') ? 'MAX' : 'MIN';
    const message = `MAX ${max} is less than MIN ${min}; legal: MAX ${min}..1000`;
    checker.fault(view.spot(own), `${own === 'MAX' ? max : min}`, message);
  }
  const role = buildRole(view);
  remarkInstances(view, role);
  return {
    entry,
    name: text,
    group: view.text('SRVGRP'),
    srvid: view.number('SRVID'),
    min,
    max: Math.max(min, max),
    clopt: view.text('CLOPT'),
    rqaddr: view.text('RQADDR'),
    replyq: view.flag('REPLYQ'),
    restart: view.flag('RESTART'),
    maxGen: view.number('MAXGEN'),
    graceS: view.number('GRACE'),
    rcmd: view.text('RCMD'),
    role,
    line,
    column,
  };
}

/** Only forwarders have lives and instances here: as many as MIN says begin with the daemon, the others by their ids. */
function remarkInstances(view: EntryView, role: Role): void {
  if (role.kind === 'tmqforward') return;
  for (const key of ['MIN', 'MAX', 'RESTART', 'MAXGEN', 'GRACE', 'RCMD']) {
    const parameter = view.find(key);
    if (parameter === undefined) continue;
    const message = `${key} of *SERVERS has no meaning here but for TMQFORWARD`;
    view.checker.remark('no meaning here', { at: parameter.key, word: key, message });
  }
}

function checkGroup(checker: Checker, server: Server, group: Group | undefined): void {
  const view = new EntryView(checker, 'SERVERS', server.entry);
  if (server.group === '' || view.find('SRVGRP')?.value.bad) return;
  const at = view.spot('SRVGRP');
  if (group === undefined) {
    return checker.missing(
      at,
      server.group,
      `SRVGRP: group ${shown(server.group)} does not exist; legal: a group of *GROUPS`,
    );
  }
  const queued = server.role.kind === 'tmqueue' || server.role.kind === 'tmqforward';
  if (!queued || group.queueSpace !== undefined) return;
  const owner = new EntryView(checker, 'GROUPS', group.entry);
  const name = shown(group.name);
  if (owner.isMacro('TMSNAME')) return;
  if (owner.text('TMSNAME') !== 'TMS_QM') {
    const message = `${server.name} needs a group with TMSNAME=TMS_QM and OPENINFO; group ${name} has no TMS_QM`;
    checker.missing(server, server.name, message);
  } else if (owner.text('OPENINFO') === '' || owner.text('OPENINFO') === 'NONE') {
    const message = `${server.name} needs a group with TMSNAME=TMS_QM and OPENINFO; group ${name} has no OPENINFO`;
    if (!owner.find('OPENINFO')?.value.bad) checker.missing(server, server.name, message);
  }
}

/** SRVID is unique in its group; the instances of an entry take SRVID .. SRVID+MAX-1. */
function checkIds(checker: Checker, servers: readonly Server[]): void {
  const taken = new Map<string, Server>();
  for (const server of servers) {
    const view = new EntryView(checker, 'SERVERS', server.entry);
    if (!view.given('SRVID') || server.group === '') continue;
    const key = `${server.srvid} ${server.group}`;
    const first = taken.get(key);
    if (first === undefined) taken.set(key, server);
    else {
      const what = `SRVID ${server.srvid} stands twice in group ${shown(server.group)}, first on line ${first.line}`;
      const message = `${what}; legal: a free number 1..30000`;
      checker.fault(view.spot('SRVID'), `${server.srvid}`, message);
    }
  }
  for (const server of taken.values()) {
    for (let id = server.srvid + 1; id < server.srvid + server.max; id += 1) {
      const other = taken.get(`${id} ${server.group}`);
      if (other === undefined) continue;
      const instance = `instance ${id - server.srvid + 1} of ${shown(server.name)} on line ${server.line}`;
      const message = `SRVID ${id} is also taken by ${instance}; leave gaps of MAX`;
      checker.warn({ at: other, word: `${id}`, group: server.group }, message);
      break;
    }
  }
}

/** Servers with one RQADDR are an MSSQ set: one group, and no TMQFORWARD among them. */
function checkSets(checker: Checker, servers: readonly Server[]): void {
  const sets = new Map<string, Server[]>();
  for (const server of servers) {
    if (server.rqaddr !== '') sets.set(server.rqaddr, [...(sets.get(server.rqaddr) ?? []), server]);
  }
  for (const [rqaddr, set] of sets) {
    for (const server of set) {
      const at = new EntryView(checker, 'SERVERS', server.entry).spot('RQADDR');
      if (server.role.kind === 'tmqforward' && (set.length > 1 || server.min > 1)) {
        const message = `RQADDR ${shown(rqaddr)}: TMQFORWARD may not be part of an MSSQ set; legal: no RQADDR, or one of its own`;
        checker.fault(at, rqaddr, message);
      } else if (server.group !== set[0]?.group) {
        const message = `RQADDR ${shown(rqaddr)} is used in group ${shown(set[0]?.group ?? '')} too; an MSSQ set stays in one group`;
        checker.fault(at, rqaddr, message);
      }
    }
  }
  for (const server of servers) {
    if (server.role.kind !== 'tmqforward' || !server.replyq) continue;
    const at = new EntryView(checker, 'SERVERS', server.entry).spot('REPLYQ');
    checker.fault(at, 'Y', 'REPLYQ=Y is not legal for TMQFORWARD; legal: REPLYQ=N');
  }
}

/** One alias in two groups of a machine would need load balancing or routing between spaces. */
function checkAliases(
  checker: Checker,
  servers: readonly Server[],
  groups: ReadonlyMap<string, Group>,
): void {
  const owners = new Map<string, string>();
  for (const server of servers) {
    if (server.role.kind !== 'tmqueue') continue;
    const lmid = groups.get(server.group)?.lmids[0] ?? '';
    for (const alias of server.role.aliases) {
      const key = `${lmid} ${alias}`;
      const owner = owners.get(key);
      if (owner === undefined) owners.set(key, server.group);
      else if (owner !== server.group) {
        const at = new EntryView(checker, 'SERVERS', server.entry).spot('CLOPT');
        checker.later('alias in two groups', { at, word: alias, group: server.group });
      }
    }
  }
}

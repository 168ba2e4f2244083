// SRVSTART, SRVSTOP and SRVLIST: servers of the configuration that run inside the daemon are started and stopped by their id, and all are
// told of. Owns the search among all servers of this machine and the texts of refusals. Invariants: exactly one answer each; a stop is
// answered when the server has finished its message. Must not know what a server does: boot hands in a port for each that can be started.
import { ADMIN, LIMIT, OP, QME, TPERRNO } from '../../proto/codes.ts';
import type { ServerInfo, ServerLine } from '../../proto/admin.ts';
import { membersBytesMax } from '../../proto/members.ts';
import type { Admin, Members } from '../../proto/message.ts';
import type { Client } from '../atmi/client.ts';
import { errorReply } from '../atmi/reply-port.ts';
import type { Failure } from '../engine/request.ts';

/** Starts and stops the instances of one server. */
export interface ServerControl {
  /** null: the daemon stops. */
  start(srvid: number): 'started' | 'running' | null;
  /** `onStopped` is called once, perhaps at once. */
  stop(srvid: number, onStopped: (state: 'stopped' | 'down') => void): void;
  /** The ids that are up. */
  running(): readonly number[];
}

/** A server of this machine's configuration. Its instances have the ids srvid .. srvid + max - 1. */
export interface KnownServer {
  readonly name: string;
  readonly group: string;
  readonly srvid: number;
  readonly min: number;
  readonly max: number;
  readonly kind: ServerLine['kind'];
  /** What starts and stops it, or why nothing here does. */
  readonly control: ServerControl | { readonly failure: Failure; readonly why: string };
}

export interface ServerAsked {
  readonly client: Client;
  readonly request: Admin;
  readonly refuse: (failure: Failure, message: string) => void;
  /** For the log. */
  readonly said: (what: string) => void;
}

const SRVID_MAX = 30_000;

export function isAboutServers(verb: number): boolean {
  return verb === ADMIN.SRVSTART || verb === ADMIN.SRVSTOP || verb === ADMIN.SRVLIST;
}

export class ServerRequests {
  private readonly servers: () => readonly KnownServer[];
  private readonly lmid: string;

  constructor(servers: () => readonly KnownServer[], lmid: string) {
    this.servers = servers;
    this.lmid = lmid;
  }

  handle(asked: ServerAsked): void {
    const { request, refuse } = asked;
    const { members } = request;
    if (request.qspace !== '' || request.qname !== '') {
      return refuse(TPERRNO.TPEINVAL, 'this verb takes neither a queue space nor a queue');
    }
    if (request.verb === ADMIN.SRVLIST) return this.list(asked);
    const fault = memberFault(members);
    if (fault !== '') return refuse(QME.QMEINVAL, fault);
    const srvid = Number(members['srvid']);
    const group = String(members['group'] ?? '');
    const found = this.find(srvid, group);
    const [server] = found;
    if (server === undefined) return refuse(TPERRNO.TPENOENT, this.unknown(srvid, group));
    if (found.length > 1) {
      const groups = found.map((one) => one.group).join(', ');
      return refuse(TPERRNO.TPEINVAL, `SRVID ${srvid} is in several groups: ${groups}; name one`);
    }
    const { control } = server;
    if ('why' in control) return refuse(control.failure, `${nameOf(server, srvid)} ${control.why}`);
    return request.verb === ADMIN.SRVSTART
      ? start(asked, { server, srvid, control })
      : stop(asked, { server, srvid, control });
  }

  /** A page of the lines, in the order of the file. */
  private list({ client, request, refuse }: ServerAsked): void {
    const fault = listFault(request.members);
    if (fault !== '') return refuse(QME.QMEINVAL, fault);
    const rest = this.servers().slice(Number(request.members['skip'] ?? 0));
    const items: Members[] = [];
    let bytes = 0;
    for (const server of rest.slice(0, LIMIT.PAGE_MAX)) {
      const item: Members = { ...lineOf(server) };
      bytes += membersBytesMax(item);
      if (items.length > 0 && bytes > LIMIT.PAGE_BYTES) break;
      items.push(item);
    }
    const members = { lmid: this.lmid, more: items.length < rest.length };
    return client.port.send({ op: OP.ADMIN, id: request.id, members, items });
  }

  private find(srvid: number, group: string): KnownServer[] {
    return this.servers().filter(
      (one) => srvid >= one.srvid && srvid < one.srvid + one.max && (group === '' || one.group === group),
    );
  }

  private unknown(srvid: number, group: string): string {
    const elsewhere = this.find(srvid, '').map((one) => one.group);
    if (elsewhere.length === 0) return `no server of this machine has SRVID ${srvid}`;
    return `group ${group} has no server with SRVID ${srvid} on this machine; there is one in ${elsewhere.join(', ')}`;
  }
}

interface Found {
  readonly server: KnownServer;
  readonly srvid: number;
  readonly control: ServerControl;
}

function start({ client, request, refuse, said }: ServerAsked, { server, srvid, control }: Found): void {
  const state = control.start(srvid);
  if (state === null) return refuse(TPERRNO.TPESYSTEM, 'the daemon stops: nothing is started any more');
  if (state === 'started') said(`server ${nameOf(server, srvid)} started`);
  return answer(client, request, infoOf(server, { srvid, state }));
}

function stop({ client, request, said }: ServerAsked, { server, srvid, control }: Found): void {
  const { id } = request;
  let isOver = false;
  control.stop(srvid, (state) => {
    if (state === 'stopped') said(`server ${nameOf(server, srvid)} stopped`);
    if (isOver) return;
    isOver = true;
    client.pending.delete(id);
    answer(client, request, infoOf(server, { srvid, state }));
  });
  if (isOver) return;
  client.pending.set(id, {
    cancel: () => {
      if (isOver) return false;
      isOver = true;
      const message = `${nameOf(server, srvid)} takes no more messages, and was still at work on one`;
      client.port.send(errorReply(id, TPERRNO.TPGOTSIG, message));
      return true;
    },
  });
}

/** '' or what is wrong with them, and what would be right. */
function memberFault(members: Members): string {
  const { srvid, group } = members;
  const other = Object.keys(members).find((name) => name !== 'srvid' && name !== 'group');
  if (other !== undefined) return `${other} is no member of this verb; legal: srvid, group`;
  const fits = typeof srvid === 'number' && Number.isInteger(srvid) && srvid >= 1 && srvid <= SRVID_MAX;
  if (!fits) return `srvid: ${shown(srvid)} is not legal; legal: a number 1..${SRVID_MAX}`;
  if (group === undefined || (typeof group === 'string' && group !== '')) return '';
  return `group: ${shown(group)} is not legal; legal: the name of a group, or not given`;
}

function listFault(members: Members): string {
  const other = Object.keys(members).find((name) => name !== 'skip');
  if (other !== undefined) return `${other} is no member of this verb; legal: skip`;
  const { skip = 0 } = members;
  if (typeof skip === 'number' && skip >= 0) return '';
  return `skip: ${shown(skip)} is not legal; legal: how many servers to pass over, 0 or more`;
}

function lineOf({ name, group, srvid, min, max, kind, control }: KnownServer): ServerLine {
  const known = { name, group, srvid, min, max, kind };
  if ('why' in control) return { ...known, running: [], why: control.why };
  return { ...known, running: control.running().map(String), why: '' };
}

function shown(value: Members[string] | undefined): string {
  return value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 60);
}

function nameOf({ name, group }: KnownServer, srvid: number): string {
  return `${name} ${group}/${srvid}`;
}

function infoOf({ name, group }: KnownServer, state: Pick<ServerInfo, 'srvid' | 'state'>): ServerInfo {
  return { name, group, ...state };
}

function answer(client: Client, { id }: Admin, info: ServerInfo): void {
  client.port.send({ op: OP.ADMIN, id, members: { ...info }, items: [] });
}

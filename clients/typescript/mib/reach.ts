// The way from the classes to the daemon: ADMIN requests of PROTOCOL.md 6.2, and their refusals as TA_ERROR. Owns how a space is opened on the way
// [spec 7, common rules]. Invariant: only what the daemon refuses becomes a MibError; a lost connection stays what it is.
import { ADMIN, type AdminVerb, OP, QME, TPERRNO } from '../../../proto/codes.ts';
import type { AdminReply, Members } from '../../../proto/message.ts';
import { type AskAdmin, QueueAdmin } from '../admin.ts';
import { TpError } from '../error.ts';
import { illegal, MibError } from './attribute.ts';
import { TAERROR, type TaError } from './codes.ts';

export const OPERATION = 'tpadmcall';

const BY_TPERRNO: Readonly<Record<number, TaError>> = {
  [TPERRNO.TPEINVAL]: TAERROR.TAEINVAL,
  [TPERRNO.TPENOENT]: TAERROR.TAEINVAL,
  [TPERRNO.TPEMATCH]: TAERROR.TAEPROTO,
  [TPERRNO.TPEPERM]: TAERROR.TAEPERM,
};
const BY_DIAGNOSTIC: Readonly<Record<number, TaError>> = {
  [QME.QMEINVAL]: TAERROR.TAEINVAL,
  [QME.QMEBADQUEUE]: TAERROR.TAEINVAL,
  [QME.QMEBADMSGID]: TAERROR.TAEUNIQ,
  [QME.QMESHARE]: TAERROR.TAEPROTO,
  [QME.QMEINUSE]: TAERROR.TAEPROTO,
  [QME.QMEOS]: TAERROR.TAEOS,
};
const ABSENT: readonly unknown[] = [QME.QMEBADQUEUE, QME.QMEBADMSGID];

export class Reach {
  /** The daemon's machine. */
  readonly lmid: string;
  private readonly ask: AskAdmin;

  constructor(ask: AskAdmin, lmid: string) {
    this.ask = (_operation, request, signal) => refusing(ask(OPERATION, request, signal));
    this.lmid = lmid;
  }

  /** A request about a device, or a space by its own name on it. */
  device(verb: AdminVerb, members: Members & { device: string }, qspace = ''): Promise<AdminReply> {
    return this.ask(OPERATION, { op: OP.ADMIN, id: 0, verb, qspace, qname: '', members });
  }

  /** All rows of a list of a device, which the request named in `field`. */
  async rows(verb: AdminVerb, device: string, field = 'TA_QMCONFIG'): Promise<Members[]> {
    const rows: Members[] = [];
    for (;;) {
      const page = await orAbsent(this.device(verb, { device, after: rows.length }));
      if (page === null) throw illegal(field, device, 'the path of a device that this daemon holds');
      rows.push(...page.items);
      if (page.members['more'] !== true || page.items.length === 0) return rows;
    }
  }

  /** What is done with the queues of a space that is open. */
  space(device: string, name: string): OpenSpace {
    return new OpenSpace(`${device}:${name}`, this.ask);
  }

  /** Opens the space when it is closed: for administration alone. */
  async opened(device: string, name: string): Promise<OpenSpace> {
    const { members } = await this.device(ADMIN.QSPACEOPEN, { device }, name);
    const { qspace } = members;
    if (typeof qspace !== 'string') throw unexpected();
    return new OpenSpace(qspace, this.ask);
  }
}

/** A space that the daemon has open. */
export class OpenSpace {
  readonly admin: QueueAdmin;
  private readonly qspace: string;
  private readonly ask: AskAdmin;

  constructor(qspace: string, ask: AskAdmin) {
    this.qspace = qspace;
    this.ask = ask;
    this.admin = new QueueAdmin(qspace, ask);
  }

  send(verb: AdminVerb, qname: string, members: Members): Promise<AdminReply> {
    return this.ask(OPERATION, { op: OP.ADMIN, id: 0, verb, qspace: this.qspace, qname, members });
  }
}

/** null: what is asked for is not there. */
export async function orAbsent<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof MibError && error.isAbsent) return null;
    throw error;
  }
}

/** A refusal that begins with the name of a member begins with that of its field. */
export async function renaming<T>(work: Promise<T>, fields: Readonly<Record<string, string>>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof MibError)) throw error;
    const [member = '', ...rest] = error.message.split(': ');
    const field = Object.hasOwn(fields, member) ? fields[member] : undefined;
    if (field === undefined) throw error;
    throw new MibError(error.code, [field, ...rest].join(': '), { field, cause: error });
  }
}

export function unexpected(): TpError {
  const text = 'the daemon answered with something else than the request asks for';
  return new TpError({ tperrno: TPERRNO.TPESYSTEM, operation: OPERATION, text });
}

async function refusing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw TpError.is(error) ? refusalOf(error) : error;
  }
}

function refusalOf(error: TpError): MibError | TpError {
  const { tperrno, diagnostic, text } = error;
  const isDiagnostic = tperrno === TPERRNO.TPEDIAGNOSTIC;
  const code = isDiagnostic ? (BY_DIAGNOSTIC[diagnostic] ?? TAERROR.TAESYSTEM) : BY_TPERRNO[tperrno];
  if (code === undefined) return error;
  const isAbsent = isDiagnostic ? ABSENT.includes(diagnostic) : tperrno === TPERRNO.TPENOENT;
  return new MibError(code, text, { isAbsent, cause: error });
}

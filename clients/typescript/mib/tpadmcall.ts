// tpadmcall [spec 7]: from a request to its answer, over the requests of administration. Owns the shape of answers. Invariant: an answer of an error
// is thrown as TPEMIB and has the same fields; what is no matter of the MIB, e.g. a lost connection, is thrown as it is.
import { ADMIN, OP, TPERRNO } from '../../../proto/codes.ts';
import type { AskAdmin } from '../admin.ts';
import { TpError } from '../error.ts';
import { MibError, type MibValue, type Row } from './attribute.ts';
import { type Asked, askedOf, type MibClass, type MibRequest } from './asked.ts';
import { TAERROR, taErrorName } from './codes.ts';
import { OPERATION, Reach, unexpected } from './reach.ts';
import { tAppq } from './t-appq.ts';
import { tAppqmsg } from './t-appqmsg.ts';
import { tAppqspace } from './t-appqspace.ts';
import { tAppqtrans } from './t-appqtrans.ts';
import { tDevice } from './t-device.ts';

/** The general fields are single values; an attribute is a list with one value for each occurrence. */
export interface MibReply {
  readonly TA_CLASS: string;
  readonly TA_ERROR: number;
  /** A sentence. */
  readonly TA_STATUS: string;
  /** How many objects this is about. */
  readonly TA_OCCURS: number;
  /** 1: there are more, for a GETNEXT; 0: there are not. */
  readonly TA_MORE: number;
  /** For the GETNEXT; only there when TA_MORE is 1. */
  readonly TA_CURSOR?: string;
  /** Of an error: the field that is to blame, if it is one. */
  readonly TA_BADFLD?: string;
  readonly [attribute: string]: MibValue | readonly MibValue[] | undefined;
}

export const CLASSES: Readonly<Record<string, MibClass>> = Object.fromEntries(
  [tDevice, tAppqspace, tAppq, tAppqmsg, tAppqtrans].map((one) => [one.name, one]),
);

export async function tpadmcall(ask: AskAdmin, request: MibRequest): Promise<MibReply> {
  try {
    const asked = askedOf(request, CLASSES);
    const reach = new Reach(ask, await machineOf(ask));
    if (asked.has('TA_LMID') && asked.text('TA_LMID') !== reach.lmid) {
      const text = `TA_LMID: this daemon's machine is ${reach.lmid}, not ${asked.text('TA_LMID')}`;
      throw new MibError(TAERROR.TAEINVAL, text, { field: 'TA_LMID' });
    }
    return await (asked.isSet ? setReply(asked, reach) : getReply(asked, reach));
  } catch (error) {
    if (!(error instanceof MibError)) throw error;
    throw refusal(error, request);
  }
}

async function setReply(asked: Asked, reach: Reach): Promise<MibReply> {
  const { changed, status, rows } = await asked.class.set(asked, reach);
  return {
    TA_CLASS: asked.class.name,
    TA_ERROR: changed ? TAERROR.TAUPDATED : TAERROR.TAOK,
    TA_STATUS: status,
    TA_OCCURS: rows.length,
    TA_MORE: 0,
    ...columns(rows),
  };
}

async function getReply(asked: Asked, reach: Reach): Promise<MibReply> {
  const { rows, next } = await asked.class.get(asked, reach);
  const objects = `${rows.length} ${rows.length === 1 ? 'object' : 'objects'}`;
  return {
    TA_CLASS: asked.class.name,
    TA_ERROR: TAERROR.TAOK,
    TA_STATUS: next === null ? objects : `${objects}, and there are more`,
    TA_OCCURS: rows.length,
    TA_MORE: next === null ? 0 : 1,
    ...(next === null ? {} : { TA_CURSOR: asked.cursor(next) }),
    ...columns(rows),
  };
}

/** All rows of a class have the same fields. */
function columns(rows: readonly Row[]): Record<string, MibValue[]> {
  const names = Object.keys(rows[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name] ?? '')]));
}

/** The machine that the daemon is on, by its name in the configuration. */
async function machineOf(ask: AskAdmin): Promise<string> {
  // Past the last server: only the machine's name is wanted.
  const members = { skip: 2_147_483_647 };
  const request = { op: OP.ADMIN, id: 0, verb: ADMIN.SRVLIST, qspace: '', qname: '', members } as const;
  const { lmid } = (await ask(OPERATION, request)).members;
  if (typeof lmid === 'string') return lmid;
  throw unexpected();
}

function refusal(error: MibError, request: MibRequest): TpError {
  const { TA_CLASS } = request as { TA_CLASS?: unknown };
  const answer: MibReply = {
    TA_CLASS: typeof TA_CLASS === 'string' ? TA_CLASS : '',
    TA_ERROR: error.code,
    TA_STATUS: error.message,
    TA_OCCURS: 0,
    TA_MORE: 0,
    ...(error.field === '' ? {} : { TA_BADFLD: error.field }),
  };
  return new TpError({
    tperrno: TPERRNO.TPEMIB,
    operation: OPERATION,
    text: `${taErrorName(error.code)}: ${error.message}`,
    cause: error.cause,
    reply: { type: 'FML32', subtype: '', data: answer },
  });
}

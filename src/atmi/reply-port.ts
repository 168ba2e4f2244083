// How answers leave: a port that net implements, and the small things that wait in an engine until what they say is durable.
import { QME, TPERRNO, tperrnoName, qmeName } from '../../proto/codes.ts';
import type { ErrorReply, Reply } from '../../proto/message.ts';
import { OP } from '../../proto/codes.ts';
import type { Failure, Held } from '../engine/request.ts';
import type { Ending } from './transactions.ts';

export interface ReplyPort {
  /** Queues a reply for sending; dropped when the other side is gone. */
  send(reply: Reply): void;
  /** So much waits for the other side to read that what nobody waits for should not be added. */
  readonly isClogged?: boolean;
}

/** A reply that may leave only when a batch is durable. */
export class HeldReply implements Held {
  private readonly port: ReplyPort;
  private readonly reply: Reply;
  constructor(port: ReplyPort, reply: Reply) {
    this.port = port;
    this.reply = reply;
  }
  released(): void {
    this.port.send(this.reply);
  }
  failed(): void {
    this.port.send(errorReply(this.reply.id, QME.QMESYSTEM, LOG_FAILED));
  }
}

export const LOG_FAILED =
  'the log of the queue space failed: whether this took effect is known when the daemon has been started again';

/** Lets go what waits for the end of a transaction. */
export function whenEnded(ending: Ending, held: Held): void {
  if (ending.engine === null) held.released();
  else ending.engine.hold(ending.batch, held);
}

/** An error reply from a failure: a diagnostic (negative) travels with TPEDIAGNOSTIC. */
export function errorReply(id: number, failure: Failure, message: string): ErrorReply {
  if (failure < 0) return { op: OP.ERROR, id, tperrno: TPERRNO.TPEDIAGNOSTIC, diagnostic: failure, message };
  return { op: OP.ERROR, id, tperrno: failure, diagnostic: QME.OK, message };
}

/** `TPEDIAGNOSTIC/QMEBADQUEUE`, `TPENOENT`. */
export function failureName(failure: Failure): string {
  return failure < 0 ? `${tperrnoName(TPERRNO.TPEDIAGNOSTIC)}/${qmeName(failure)}` : tperrnoName(failure);
}

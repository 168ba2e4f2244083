// One transaction at the daemon, bound to the connection that began it. Invariants: a transaction whose connection is gone has been rolled
// back: committing it is TPEABORT, aborting it succeeds; it is ended at most once. Several may be open beside each other on one socket.
// Must not know what is done inside it.
import { JOINED_TX, OP, TPERRNO } from '../../proto/codes.ts';
import { ownBytes } from './buffer.ts';
import type { Connection } from './connection.ts';
import { TpError } from './error.ts';
import { PlainCall, type TxRef } from './pending.ts';
import type { Session } from './session.ts';

export interface BeginOptions {
  operation: string;
  /** Seconds; 0: the largest the daemon allows. */
  timeoutS: number;
  signal?: AbortSignal | undefined;
  owner: object;
}

interface TxPlace {
  readonly number: number;
  readonly carrier: Connection;
  readonly timeoutMs: number;
  /** 12 bytes; null: not known. */
  readonly transaction: Uint8Array | null;
}

export class Tx implements TxRef {
  readonly number: number;
  readonly carrier: Connection;
  readonly endsAtMs: number;
  ended = false;
  /** Something failed on this side that makes it rollback-only. */
  spoiled = false;
  /** A service takes part in its caller's; it is not for it to end. */
  readonly isJoined: boolean;
  /** Its id for ever, 24 hexadecimal digits; null: a service does not know its caller's. */
  readonly id: string | null;
  private readonly session: Session;

  private constructor(session: Session, at: TxPlace) {
    this.id = at.transaction === null ? null : Buffer.from(at.transaction).toString('hex');
    this.session = session;
    this.number = at.number;
    this.carrier = at.carrier;
    this.endsAtMs = at.timeoutMs === 0 ? Infinity : performance.now() + at.timeoutMs;
    this.isJoined = at.number >= JOINED_TX;
  }

  /** What the service of a REQUEST with TPTRAN has joined. */
  static joined(session: Session, at: { id: number; carrier: Connection; timeoutMs: number }): Tx {
    return new Tx(session, { ...at, number: at.id + JOINED_TX, transaction: null });
  }

  /** Takes up a suspended one. TPEINVAL, TPEMATCH. */
  static async resume(
    session: Session,
    options: { operation: string; tranid: Uint8Array; owner: object },
  ): Promise<Tx> {
    const { operation, tranid } = options;
    const call = new PlainCall({ operation, request: { op: OP.RESUME, id: 0, tranid } });
    call.owner = options.owner;
    const reply = await session.submit(call).promise;
    const { connection } = session;
    if (reply.op !== OP.RESUME || connection === null || call.carrier !== connection) throw lost(operation);
    const { tx, timeoutMs, transaction } = reply;
    return new Tx(session, { number: tx, carrier: connection, timeoutMs, transaction });
  }

  /** Begins one. TPEINVAL: timeout; TPENOENT: MAXGTT are open. */
  static async begin(session: Session, options: BeginOptions): Promise<Tx> {
    const { operation, timeoutS, signal } = options;
    if (!Number.isSafeInteger(timeoutS) || timeoutS < 0) {
      throw new TpError({ tperrno: TPERRNO.TPEINVAL, operation, text: `timeout ${timeoutS}` });
    }
    const call = new PlainCall({ operation, request: { op: OP.BEGIN, id: 0, timeoutS }, signal });
    call.owner = options.owner;
    const reply = await session.submit(call).promise;
    const { connection } = session;
    if (reply.op !== OP.BEGIN || connection === null || call.carrier !== connection) throw lost(operation);
    const { tx: number, transaction } = reply;
    const tx = new Tx(session, { number, carrier: connection, timeoutMs: timeoutS * 1000, transaction });
    if (signal?.aborted !== true) return tx;
    await tx.abort(operation);
    throw new TpError({
      tperrno: TPERRNO.TPGOTSIG,
      operation,
      text: 'aborted by its caller',
      cause: signal.reason,
    });
  }

  /** The connection is gone, and with it the transaction. */
  get lost(): boolean {
    return this.carrier.ended;
  }

  /** It cannot be committed any more. */
  spoil(): void {
    this.spoiled = true;
  }

  /**
   * TPEABORT: rolled back. TPESYSTEM with outcomeUnknown: sent, and the connection was lost before the answer.
   * @param when one of TP_CMT; null: as the daemon is configured
   */
  async commit(operation: string, when: number | null = null): Promise<void> {
    if (this.spoiled) {
      await this.abort(operation);
      const text = 'a reply was outstanding, or of a type that was refused: rolled back';
      throw new TpError({ tperrno: TPERRNO.TPEABORT, operation, text });
    }
    this.finish(operation);
    if (this.lost) throw rolledBack(operation);
    const tx = this.number;
    const request = when === null ? { op: OP.COMMIT, id: 0, tx } : { op: OP.COMMITAT, id: 0, tx, when };
    const call = new PlainCall({ operation, request, tx: this });
    await this.session.submit(call).promise.catch((error: unknown) => {
      throw this.named(error);
    });
  }

  /** Its id. TPEABORT: rolled back already. */
  async suspend(operation: string): Promise<Uint8Array> {
    if (this.lost) throw rolledBack(operation);
    const request = { op: OP.SUSPEND, id: 0, tx: this.number } as const;
    const reply = await this.session.submit(new PlainCall({ operation, request, tx: this })).promise;
    if (reply.op !== OP.SUSPEND) throw lost(operation);
    // Another connection may have it from now on.
    this.ended = true;
    return ownBytes(reply.tranid);
  }

  /** Succeeds also when the transaction is gone already. */
  async abort(operation: string): Promise<void> {
    this.finish(operation);
    if (this.lost) return;
    const request = { op: OP.ABORT, id: 0, tx: this.number } as const;
    try {
      await this.session.submit(new PlainCall({ operation, request, tx: this })).promise;
    } catch (error) {
      if (!this.lost) throw error;
    }
  }

  /** The error of a commit says of which transaction, when nobody knows what came of it. */
  private named(error: unknown): unknown {
    if (!TpError.is(error) || !error.outcomeUnknown) return error;
    const { tperrno, diagnostic, operation, cause } = error;
    const text = `${error.text}; transactionOutcome('${this.id ?? ''}') tells it`;
    return new TpError({
      tperrno,
      diagnostic,
      operation,
      text,
      cause,
      outcomeUnknown: true,
      transaction: this.id,
    });
  }

  private finish(operation: string): void {
    if (this.ended)
      throw new TpError({ tperrno: TPERRNO.TPEPROTO, operation, text: 'the transaction has ended' });
    this.ended = true;
  }
}

function lost(operation: string): TpError {
  return new TpError({ tperrno: TPERRNO.TPESYSTEM, operation, text: 'the connection was lost' });
}

function rolledBack(operation: string): TpError {
  const text = 'the transaction was rolled back when its connection was lost';
  return new TpError({ tperrno: TPERRNO.TPEABORT, operation, text });
}

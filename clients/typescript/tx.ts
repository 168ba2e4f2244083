// One transaction at the daemon, bound to the connection that began it. Invariants: a transaction whose connection is gone has been rolled
// back: committing it is TPEABORT, aborting it succeeds; it is ended at most once. Several may be open beside each other on one socket.
// Must not know what is done inside it.
import { OP, TPERRNO } from '../../proto/codes.ts';
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

export class Tx implements TxRef {
  readonly number: number;
  readonly carrier: Connection;
  readonly endsAtMs: number;
  ended = false;
  private readonly session: Session;

  private constructor(session: Session, at: { number: number; carrier: Connection; timeoutS: number }) {
    this.session = session;
    this.number = at.number;
    this.carrier = at.carrier;
    this.endsAtMs = at.timeoutS === 0 ? Infinity : performance.now() + at.timeoutS * 1000;
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
    if (reply.op !== OP.BEGIN || connection === null || call.carrier !== connection) {
      throw new TpError({ tperrno: TPERRNO.TPESYSTEM, operation, text: 'the connection was lost' });
    }
    const tx = new Tx(session, { number: reply.tx, carrier: connection, timeoutS });
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

  /** TPEABORT: rolled back. TPESYSTEM with outcomeUnknown: sent, and the connection was lost before the answer. */
  async commit(operation: string): Promise<void> {
    this.finish(operation);
    if (this.lost) {
      const text = 'the transaction was rolled back when its connection was lost';
      throw new TpError({ tperrno: TPERRNO.TPEABORT, operation, text });
    }
    const request = { op: OP.COMMIT, id: 0, tx: this.number } as const;
    await this.session.submit(new PlainCall({ operation, request, tx: this })).promise;
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

  private finish(operation: string): void {
    if (this.ended)
      throw new TpError({ tperrno: TPERRNO.TPEPROTO, operation, text: 'the transaction has ended' });
    this.ended = true;
  }
}

// The calls that tpacall has made and tpgetrply has not fetched [spec 3.4]. Owns the descriptors of one caller. Invariants: a descriptor is
// valid until its reply was fetched or it was cancelled, also over a blocking timeout; replies of any descriptor come in the order of
// arrival. Must not know what is in a reply.
import { LIMIT, TPERRNO } from '../../proto/codes.ts';
import type { Reply } from '../../proto/message.ts';
import { TpError } from './error.ts';
import type { PlainCall, TxRef } from './pending.ts';

export interface Outstanding {
  readonly cd: number;
  readonly service: string;
  readonly call: PlainCall;
  /** The transaction that it belongs to. */
  readonly tx: TxRef | null;
  reply: Reply | null;
  /** What it failed with. */
  error: unknown;
  settled: boolean;
}

export interface WaitOptions {
  /** Milliseconds from now until TPETIME. */
  readonly limitMs: number;
  readonly signal: AbortSignal | undefined;
}

export class Descriptors {
  private readonly open = new Map<number, Outstanding>();
  /** In the order of their answers. */
  private readonly answered: Outstanding[] = [];
  private readonly waiters = new Set<() => void>();
  private last = 0;

  /** TPELIMIT: too many are outstanding. */
  checkRoom(): void {
    if (this.open.size < LIMIT.DESCRIPTORS) return;
    throw failure('tpacall', TPERRNO.TPELIMIT, `${LIMIT.DESCRIPTORS} replies are outstanding`);
  }

  add(service: string, call: PlainCall): Outstanding {
    do this.last = this.last >= 0x7fff_ffff ? 1 : this.last + 1;
    while (this.open.has(this.last));
    const one: Outstanding = {
      cd: this.last,
      service,
      call,
      tx: call.tx,
      reply: null,
      error: null,
      settled: false,
    };
    this.open.set(one.cd, one);
    call.promise.then(
      (reply) => this.settle(one, reply, null),
      (error: unknown) => this.settle(one, null, error),
    );
    return one;
  }

  /** The descriptor that tpcancel names. TPEBADDESC: it has none. */
  find(operation: string, cd: number): Outstanding {
    const one = this.open.get(cd);
    if (one !== undefined) return one;
    throw failure(operation, TPERRNO.TPEBADDESC, `descriptor ${cd} is not valid`);
  }

  remove(one: Outstanding): void {
    this.open.delete(one.cd);
    const at = this.answered.indexOf(one);
    if (at >= 0) this.answered.splice(at, 1);
    this.wake();
  }

  /** Whether replies of this transaction have not been fetched. */
  areOwedTo(tx: TxRef): boolean {
    for (const one of this.open.values()) if (one.tx === tx) return true;
    return false;
  }

  /** The transaction has ended: its descriptors are not valid any more. Whether there were any. */
  forget(tx: TxRef): boolean {
    const owed = [...this.open.values()].filter((each) => each.tx === tx);
    for (const one of owed) this.remove(one);
    return owed.length > 0;
  }

  /** Gives up all replies; whether there were any. */
  giveUp(reason: Error): boolean {
    const all = [...this.open.values()];
    for (const one of all) {
      this.remove(one);
      one.call.abort(reason);
    }
    return all.length > 0;
  }

  /** Takes an answered call out: the named one, or with null the one that was answered first; null: not answered yet. */
  take(cd: number | null): Outstanding | null {
    if (cd === null && this.open.size === 0) {
      throw failure('tpgetrply', TPERRNO.TPEBADDESC, 'no reply is outstanding');
    }
    const one = cd === null ? this.answered[0] : this.find('tpgetrply', cd);
    if (one === undefined || !one.settled) return null;
    this.remove(one);
    return one;
  }

  /** Resolves when something has changed; rejects with TPETIME, or TPGOTSIG when the signal aborts. */
  changed({ limitMs, signal }: WaitOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const end = (): void => {
        clearTimeout(timer);
        this.waiters.delete(done);
        signal?.removeEventListener('abort', aborted);
      };
      const done = (): void => {
        end();
        resolve();
      };
      const aborted = (): void => {
        end();
        const text = 'its signal was aborted';
        const { TPGOTSIG: tperrno } = TPERRNO;
        reject(new TpError({ tperrno, operation: 'tpgetrply', text, cause: signal?.reason }));
      };
      if (signal?.aborted === true) return aborted();
      this.waiters.add(done);
      signal?.addEventListener('abort', aborted, { once: true });
      if (limitMs === Infinity) return undefined;
      timer = setTimeout(
        () => {
          end();
          reject(failure('tpgetrply', TPERRNO.TPETIME, 'no reply in time; the descriptor stays valid'));
        },
        Math.min(limitMs, 0x7fff_ffff),
      );
      return undefined;
    });
  }

  private settle(one: Outstanding, reply: Reply | null, error: unknown): void {
    one.reply = reply;
    one.error = error;
    one.settled = true;
    if (!this.open.has(one.cd)) return;
    this.answered.push(one);
    this.wake();
  }

  private wake(): void {
    for (const done of this.waiters) done();
  }
}

function failure(operation: string, tperrno: number, text: string): TpError {
  return new TpError({ tperrno, operation, text });
}

// One call of a service, as the dispatcher handles it, whoever made it: a client, or a forwarder. Must not know where it is answered to.
import { LIMIT } from '../../proto/codes.ts';
import type { Deadline } from '../base/timer-queue.ts';
import type { TypedData } from '../../proto/message.ts';
import type { Failure } from '../engine/request.ts';
import type { ClientIdentity } from './client.ts';
import type { PriorityWish } from './service-rules.ts';
import type { Transaction } from './transactions.ts';

/** A call and who hears of its end. Exactly one of `answered` and `failed` is called, once; of a one-way call `sent` or `failed`. */
export abstract class ServiceCall {
  abstract readonly service: string;
  abstract readonly body: TypedData;
  /** TPSVCINFO.flags. */
  abstract readonly flags: number;
  /** Whose request it is: the original enqueuer's when a forwarder calls [spec 3.5]. */
  abstract readonly identity: Pick<ClientIdentity, 'cltid' | 'appkey'>;
  /** Monotonic instant of TPETIME; Infinity: none. */
  abstract readonly deadlineMs: number;
  /** The service returned: rval is TPSUCCESS or TPFAIL. */
  abstract answered(rval: number, rcode: number, body: TypedData): void;
  abstract failed(failure: Failure): void;

  /** TPNOREPLY: for its caller it ends when a server has it. */
  readonly isOneWay: boolean = false;
  sent(): void {}
  /** Its own, whatever the service's is; null: none. */
  readonly priority: number | null = null;
  /** What tpsprio said before it. */
  readonly wish: PriorityWish | null = null;
  /** TPNOBLOCK of a call without answer: TPEBLOCK when no server is free. */
  readonly mayNotWait: boolean = false;
  /** The caller's transaction, which the service joins; null: it is called outside of any. */
  readonly joins: Transaction | null = null;

  // The dispatcher's own notes.
  deadline: Deadline | null = null;
  done = false;
  /** A server is at work on it. */
  isAtServer = false;
  /** The priority that counts. */
  rank: number = LIMIT.PRIORITY_DEFAULT;
  /** Where a server passed it on to, with which data; null: it is where its caller sent it. */
  forwarded: { readonly service: string; readonly body: TypedData } | null = null;
  /** AUTOTRAN: the daemon's transaction for it, which ends when the service does. */
  auto: Transaction | null = null;
}

// A forwarder's dequeue from one of its queues: any message, in the forwarder's transaction. Says what came of it; decides nothing.
import { QME } from '../../proto/codes.ts';
import type { StoredMessage } from '../engine/message-record.ts';
import { DequeueRequest, type BatchNumber, type Failure, type Work } from '../engine/request.ts';
import type { Selection } from '../queue/decide.ts';

const ANYTHING: Selection = { msgid: null, corrid: null };

/** Who takes. Exactly one of the two is called, once. */
export interface Taker {
  /** The message is locked by the transaction; it is durable with this batch. */
  took(take: Take, message: StoredMessage, batch: BatchNumber): void;
  /** Nothing there, not in time, or cancelled. */
  refused(take: Take, failure: Failure): void;
}

export class Take extends DequeueRequest {
  readonly qname: string;
  readonly selection = ANYTHING;
  readonly work: Work;
  readonly peek = false;
  readonly wait: boolean;
  readonly deadlineMs: number;
  readonly timeoutFailure = QME.QMENOMSG;
  override readonly needsAction = false;
  state: 'waiting' | 'taken' | 'refused' = 'waiting';
  failure: Failure = QME.OK;
  private readonly taker: Taker;

  /** @param from `deadlineMs` null: it does not wait */
  constructor(taker: Taker, from: { qname: string; work: Work; deadlineMs: number | null }) {
    super();
    this.taker = taker;
    this.qname = from.qname;
    this.work = from.work;
    this.wait = from.deadlineMs !== null;
    this.deadlineMs = from.deadlineMs ?? Infinity;
  }

  accepts(): boolean {
    return true;
  }
  taken(message: StoredMessage, batch: BatchNumber): void {
    this.state = 'taken';
    this.taker.took(this, message, batch);
  }
  refused(failure: Failure): void {
    this.state = 'refused';
    this.failure = failure;
    this.taker.refused(this, failure);
  }
}

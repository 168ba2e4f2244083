// One AQ request on its way: who asks, of which queue space, and the one answer that it gets, held until what it tells is durable. Whoever
// carries a request out has this and nothing of the connection.
import { OP, QME, TPERRNO } from '../../proto/codes.ts';
import { aqErrorText, aqFailure } from '../../proto/aq/errors.ts';
import type { AqErrorReply, AqItem, AqRequest } from '../../proto/aq/message.ts';
import type { Members } from '../../proto/message.ts';
import type { AqSpace } from './space.ts';
import type { Client } from '../atmi/client.ts';
import { errorReply, HeldReply, LOG_FAILED } from '../atmi/reply-port.ts';
import type { Queue } from '../queue/queue.ts';
import type { BatchNumber, Failure, Held } from '../engine/request.ts';

/** Why a request is refused: an AQ error, or (`fault` 0) a failure as /Q has it. */
export interface AqRefused {
  readonly fault: number;
  readonly failure: Failure;
  /** What, where, and what would be right; without the number. */
  readonly message: string;
}

/** An error of the dialect; the catalogue's text unless a better one is given. */
export function aqError(fault: number, message = aqErrorText(fault)): AqRefused {
  return { fault, failure: 0, message };
}
export function aqFailed(failure: Failure, message: string): AqRefused {
  return { fault: 0, failure, message };
}

export class AqAsked {
  readonly client: Client;
  /** `qname` without its schema, which `space` is. */
  readonly request: AqRequest;
  readonly space: AqSpace;
  private isAnswered = false;

  constructor(client: Client, request: AqRequest, space: AqSpace) {
    this.client = client;
    this.request = request;
    this.space = space;
  }

  /**
   * The queue that the request names.
   * @param missing the error when there is none: 24010 of administration, 25205 of everything else
   */
  queue(missing: 24_010 | 25_205): Queue | AqRefused {
    const { qname } = this.request;
    if (qname === '') return aqError(25_200);
    const queue = this.space.engine.space.queue(qname);
    if (queue === undefined)
      return aqError(missing, `there is no queue ${qname} in queue space ${this.space.name}`);
    if (queue.attributes.aq !== null) return queue;
    return aqError(missing, `queue ${qname} of ${this.space.name} is one of /Q, not of the AQ dialect`);
  }

  /** Answers with what is durable once `batch` is. */
  answer(batch: BatchNumber, members: Members = {}, items: readonly AqItem[] = []): void {
    if (this.end()) return;
    const reply = { op: OP.AQ, id: this.request.id, members, items } as const;
    this.space.engine.hold(batch, new HeldReply(this.client.port, reply));
  }

  refuse(refused: AqRefused, batch: BatchNumber = 0): void {
    if (this.end()) return;
    const reply = aqErrorReply(this.request.id, refused);
    if (batch === 0) this.client.port.send(reply);
    else this.space.engine.hold(batch, new HeldAqError(this.client, reply));
  }

  /**
   * Tries again when there may be room in the log, from the beginning: what was looked at may be something else by then. Nothing else of the
   * client overtakes the request meanwhile.
   */
  whenRoom(again: () => void, cancelled: () => void = () => {}): void {
    const { client, request, space } = this;
    let isCancelled = false;
    client.pending.set(request.id, {
      tx: request.tx,
      cancel: () => {
        if (isCancelled) return false;
        isCancelled = true;
        cancelled();
        this.refuse(aqFailed(TPERRNO.TPGOTSIG, 'cancelled while it waited for room'));
        return true;
      },
    });
    client.block();
    space.engine.whenRoom(() => {
      if (!isCancelled) client.pending.delete(request.id);
      if (!isCancelled) again();
      // It may have to wait again.
      if (!client.pending.has(request.id)) client.unblock();
    });
  }

  private end(): boolean {
    this.client.pending.delete(this.request.id);
    const wasAnswered = this.isAnswered;
    this.isAnswered = true;
    return wasAnswered;
  }
}

export function aqErrorReply(id: number, { fault, failure, message }: AqRefused): AqErrorReply {
  const { tperrno, diagnostic } = fault === 0 ? errorReply(id, failure, message) : aqFailure(fault);
  return { op: OP.AQERROR, id, tperrno, diagnostic, aq: fault, message };
}

class HeldAqError implements Held {
  private readonly client: Client;
  private readonly reply: AqErrorReply;
  constructor(client: Client, reply: AqErrorReply) {
    this.client = client;
    this.reply = reply;
  }
  released(): void {
    this.client.port.send(this.reply);
  }
  failed(): void {
    const { id } = this.reply;
    const code = { tperrno: TPERRNO.TPEDIAGNOSTIC, diagnostic: QME.QMESYSTEM };
    this.client.port.send({ op: OP.AQERROR, id, ...code, aq: 0, message: LOG_FAILED });
  }
}

// Unsolicited messages on the client's side [spec 3.6]: the handler, and what waits until the program calls something. Invariants: in dip-in
// mode nothing runs but inside a call; with the other modes a message is handled when it arrives; a message that wants an ACK gets exactly
// one; while the handler runs no call is allowed but those on buffers. Must not know sockets.
import { OP, TPERRNO, TPU } from '../../proto/codes.ts';
import type { Ack, Unsolicited } from '../../proto/message.ts';
import { fromWire, type Received } from './buffer.ts';
import { TpError } from './error.ts';

/** @param flags always 0 [tpsetunsol(3c)] */
export type UnsolicitedHandler = (message: Received, flags: number) => void;

/** Where the ACK goes. */
export interface Acknowledger {
  sendOneWay(ack: Ack): void;
}

interface Waiting {
  readonly message: Unsolicited;
  readonly from: Acknowledger;
}

/** Messages that wait for a call; one more is lost, as delivery is best effort. */
const WAITING_MAX = 1024;

export class UnsolicitedHub {
  private readonly waiting: Waiting[] = [];
  private readonly onError: (error: unknown) => void;
  private handler: UnsolicitedHandler | null = null;
  private running = false;

  constructor(onError: (error: unknown) => void) {
    this.onError = onError;
  }

  /** Sets the handler, null: none; the one before. */
  set(handler: UnsolicitedHandler | null): UnsolicitedHandler | null {
    const before = this.handler;
    this.handler = handler;
    return before;
  }

  arrived(message: Unsolicited, from: Acknowledger): void {
    const waits = message.mode === TPU.TPU_DIP && this.handler !== null;
    if (!waits) this.deliver({ message, from });
    else if (this.waiting.length < WAITING_MAX) this.waiting.push({ message, from });
    else this.refuse({ message, from }, `${WAITING_MAX} messages wait already`);
  }

  /** Hands out what waits; how many. Throws TPEPROTO when called from the handler. */
  dip(operation: string): number {
    if (this.running) {
      const text = 'the handler of unsolicited messages may not make this call';
      throw new TpError({ tperrno: TPERRNO.TPEPROTO, operation, text });
    }
    const batch = this.waiting.splice(0);
    for (const one of batch) this.deliver(one);
    return batch.length;
  }

  private deliver(one: Waiting): void {
    const { handler } = this;
    if (handler === null) {
      this.refuse(one, 'there is no handler, see tpsetunsol');
      return;
    }
    this.running = true;
    try {
      handler(fromWire(one.message.body), 0);
    } catch (error) {
      this.onError(error);
    } finally {
      this.running = false;
    }
    acknowledge(one, true);
  }

  private refuse(one: Waiting, why: string): void {
    acknowledge(one, false);
    this.onError(new Error(`an unsolicited message was ignored: ${why}`));
  }
}

function acknowledge({ message, from }: Waiting, handled: boolean): void {
  if (message.id !== 0) from.sendOneWay({ op: OP.ACK, id: message.id, handled });
}

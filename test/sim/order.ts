// The order rules, on queues that are used by plain calls only: whoever was handed a message was handed none that should have come later
// than another which was certainly there all the time. Certainly: its enqueue was acknowledged before the dequeue was asked for, and no
// dequeue that could have held it was asked for before this one was answered. It must not know how calls are made.
import { type Ledger, type Message, placeName, type Take } from './ledger.ts';

const LINGERING_TICKS = 200;

export type QueueOrder = 'fifo' | 'lifo' | 'priority';

/** Everything that came out of turn on the queues of this order. */
export function outOfTurn(ledger: Ledger, orders: ReadonlyMap<string, QueueOrder>): string[] {
  const wrong: string[] = [];
  for (const [queue, order] of orders) {
    const messages = [...ledger.messages.values()].filter((message) => placeName(message.place) === queue);
    const takes = messages.flatMap((message) =>
      message.takes.filter((take) => take.unit === null && !take.selects),
    );
    const isUnsure = ledger.unknownTakes.some((take) => take.queue === queue);
    for (const take of takes) {
      for (const other of messages) {
        // A dequeue without an answer may have held any message for a while; only what was taken later by another is sure.
        if (isUnsure && other.takes.length === 0) continue;
        if (!wasThere(ledger, other, take) || !comesBefore(other, take.message, order)) continue;
        wrong.push(`${take.message.key} came from ${queue} (${order}) before ${other.key}, which was there`);
      }
    }
  }
  return wrong;
}

/** Whether `message` was deliverable all the time from the question to the answer. */
function wasThere(ledger: Ledger, message: Message, take: Take): boolean {
  if (message === take.message || message.put !== 'there' || message.putTick > take.askedTick) return false;
  const { isPersistent, expires, isPlaced } = message.traits;
  if (!isPersistent || expires || isPlaced || take.message.traits.isPlaced) return false;
  if (message.takes.some((other) => other.askedTick < take.tick)) return false;
  const queue = placeName(message.place);
  // A dequeue without an answer may have held it meanwhile, and for a little longer than its client waited.
  const mayHold = (other: Ledger['unknownTakes'][number]): boolean =>
    other.queue === queue && other.askedTick < take.tick && other.tick + LINGERING_TICKS > take.askedTick;
  if (ledger.unknownTakes.some(mayHold)) return false;
  return !ledger.clearings.some((one) => one.queue === queue && one.toTick > message.askedTick);
}

/** Whether `first` must be handed out before `second` when both are there. Unknown: no. */
function comesBefore(first: Message, second: Message, order: QueueOrder): boolean {
  const byPriority = order === 'priority';
  if (byPriority && first.traits.priority !== second.traits.priority) {
    return first.traits.priority > second.traits.priority;
  }
  return order === 'lifo' ? first.askedTick > second.putTick : first.putTick < second.askedTick;
}

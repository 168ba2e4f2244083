// Thresholds of a queue [spec 5.6]: when usage reaches the high limit a command is to be run, and not again before usage has fallen to the
// low limit. One for persistent messages, one for non-persistent. Whether a threshold is armed is logged, so that a restart neither runs a
// command twice nor forgets to. Pure; running the command is the engine's matter.
import { PAGE_BYTES } from './attributes.ts';
import { THRESHOLD, type EventSink, type ThresholdKind } from './event.ts';
import type { Queue } from './queue.ts';
import type { QueueSpace } from './space.ts';

const KINDS: readonly ThresholdKind[] = [THRESHOLD.PERSISTENT, THRESHOLD.NONPERSISTENT];

/** Arms and disarms what the queue's usage asks for; `fire` is told each command that is to be run. */
export function checkThresholds(
  space: QueueSpace,
  queue: Queue,
  { out, fire }: { out: EventSink; fire: (queue: Queue, command: string) => void },
): void {
  if (queue.doomed) return;
  for (const threshold of KINDS) {
    const command = commandOf(queue, threshold);
    if (command === '') continue;
    const { high, low } = marksOf(queue, threshold);
    const usage = usageOf(queue, threshold, high);
    const armed = queue.armed[threshold] === true;
    if (armed && usage >= amountOf(space, threshold, high)) {
      out.push({ kind: 'thresholdSet', queue: queue.number, threshold, armed: false });
      fire(queue, command);
    } else if (!armed && usage <= amountOf(space, threshold, low)) {
      out.push({ kind: 'thresholdSet', queue: queue.number, threshold, armed: true });
    }
  }
}

/** Whether anything is to be watched on this queue. */
export function hasThreshold(queue: Queue): boolean {
  return queue.attributes.cmd !== '' || queue.attributes.nonPersistentCmd !== '';
}

function commandOf(queue: Queue, threshold: ThresholdKind): string {
  const { cmd, nonPersistentCmd } = queue.attributes;
  return threshold === THRESHOLD.PERSISTENT ? cmd : nonPersistentCmd;
}

function marksOf(queue: Queue, threshold: ThresholdKind): { high: string; low: string } {
  const { high, low, nonPersistentHigh, nonPersistentLow } = queue.attributes;
  return threshold === THRESHOLD.PERSISTENT
    ? { high, low }
    : { high: nonPersistentHigh, low: nonPersistentLow };
}

/** Usage in the unit of the limits: messages, blocks, or bytes (also for a percentage, of bytes). */
function usageOf(queue: Queue, threshold: ThresholdKind, mark: string): number {
  if (threshold === THRESHOLD.NONPERSISTENT) {
    return mark.endsWith('B') ? Math.ceil(queue.memoryBytes / PAGE_BYTES) : queue.memoryBytes;
  }
  if (mark.endsWith('m')) return queue.messages - queue.memoryMessages;
  if (mark.endsWith('B')) return queue.pages;
  return mark.endsWith('%') ? queue.pages * PAGE_BYTES : queue.bytes;
}

/** A percentage is of the space's pages, or of its memory area; of a space without such a limit no share is ever reached. */
function amountOf(space: QueueSpace, threshold: ThresholdKind, mark: string): number {
  const amount = Number.parseInt(mark, 10);
  if (!mark.endsWith('%')) return amount;
  const { pages, nonPersistentBytes } = space.attributes;
  const capacity = threshold === THRESHOLD.PERSISTENT ? pages * PAGE_BYTES : nonPersistentBytes;
  if (amount === 0) return 0;
  return capacity === 0 ? Infinity : (capacity * amount) / 100;
}

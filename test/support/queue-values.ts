// Values that tests of the queue machine and the engine are made of.
import { TPQ } from '../../proto/codes.ts';
import type { QueueAttributes } from '../../src/queue/event.ts';
import type { MessageProperties } from '../../src/queue/message.ts';

export function queueAttributes(name: string, over: Partial<QueueAttributes> = {}): QueueAttributes {
  return {
    name,
    order: 'fifo',
    outOfOrder: 'none',
    retries: 0,
    delayS: 0,
    policy: 'persist',
    expiryS: -1,
    high: '100%',
    low: '0%',
    cmd: '',
    ...over,
  };
}

/** A corrid of 32 bytes that says `n`. */
export function corrid(n: number): Uint8Array {
  const bytes = new Uint8Array(32);
  bytes.set(new TextEncoder().encode(`corrid ${n}`));
  return bytes;
}

export function properties(over: Partial<MessageProperties>): MessageProperties {
  return {
    flags: over.corrid === undefined || over.corrid === null ? 0 : TPQ.TPQCORRID,
    priority: 50,
    corrid: null,
    replyqueue: '',
    failurequeue: '',
    cltid: new Uint8Array(16),
    appkey: -1,
    urcode: 0,
    type: 'STRING',
    subtype: '',
    ...over,
  };
}

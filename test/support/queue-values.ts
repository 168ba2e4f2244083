// Values that tests of the queue machine and the engine are made of.
import { TPQ } from '../../proto/codes.ts';
import { QUEUE_DEFAULTS, SPACE_DEFAULTS } from '../../src/queue/attributes.ts';
import type { QueueAttributes, SpaceAttributes } from '../../src/queue/attributes.ts';
import type { MessageProperties } from '../../src/queue/message.ts';

export function queueAttributes(name: string, over: Partial<QueueAttributes> = {}): QueueAttributes {
  return { ...QUEUE_DEFAULTS, name, ...over };
}

export function spaceAttributes(name: string, over: Partial<SpaceAttributes> = {}): SpaceAttributes {
  return { ...SPACE_DEFAULTS, name, ...over };
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
    deliveryQos: 0,
    replyQos: 0,
    ...over,
  };
}

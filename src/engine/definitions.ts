// What a space is made of beside its messages, as records: what the log repeats at the start of each segment, and a checkpoint holds.
import type { ThresholdKind } from '../queue/event.ts';
import type { QueueSpace } from '../queue/space.ts';
import { encodeEvent } from './record.ts';
import { RecordBuffer } from './record-buffer.ts';

export function definitionRecords(space: QueueSpace): RecordBuffer {
  const buffer = new RecordBuffer();
  const { attributes } = space;
  encodeEvent(buffer, { kind: 'spaceDefined', attributes, nextQueue: space.nextQueueNumber() });
  // The doomed first: a queue of the same name may have been made since.
  for (const queue of [...space.doomedQueues(), ...space.queues()]) {
    encodeEvent(buffer, { kind: 'queueDefined', queue: queue.number, attributes: queue.attributes });
    if (queue.doomed) encodeEvent(buffer, { kind: 'queueDoomed', queue: queue.number });
    queue.armed.forEach((armed, threshold) => {
      if (armed) return;
      const set = { threshold: threshold as ThresholdKind, armed };
      encodeEvent(buffer, { kind: 'thresholdSet', queue: queue.number, ...set });
    });
  }
  return buffer;
}

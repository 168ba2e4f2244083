// What a space is made of beside its messages, as records: what the log repeats at the start of each segment, and a checkpoint holds.
import type { ThresholdKind } from '../queue/event.ts';
import { members } from '../queue/prepared.ts';
import type { Queue } from '../queue/queue.ts';
import type { QueueSpace } from '../queue/space.ts';
import { encodeOutcomes } from './branch-record.ts';
import { encodeEvent } from './record.ts';
import { RecordBuffer } from './record-buffer.ts';

/** For a checkpoint: with the transactions that committed, and what the prepared ones hold. */
export function checkpointRecords(space: QueueSpace): RecordBuffer {
  const buffer = new RecordBuffer();
  encodeOutcomes(buffer, space.outcomes);
  writeDefinitions(buffer, space);
  for (const event of members(space)) if (event.persistent) encodeEvent(buffer, event);
  return buffer;
}

/** For the start of a segment. */
export function definitionRecords(space: QueueSpace): RecordBuffer {
  const buffer = new RecordBuffer();
  encodeEvent(buffer, { kind: 'outcomesBegin', forgotten: space.outcomes.through, ids: [] });
  writeDefinitions(buffer, space);
  return buffer;
}

/** The doomed first: a queue of the same name may have been made since. Lanes behind their queues. */
function queuesToDefine(space: QueueSpace): Queue[] {
  const queues = [...space.doomedQueues(), ...space.queues()];
  return [...queues, ...queues.flatMap(({ lanes }) => [...(lanes?.values() ?? [])])];
}

function writeDefinitions(buffer: RecordBuffer, space: QueueSpace): void {
  const { attributes } = space;
  encodeEvent(buffer, { kind: 'spaceDefined', attributes, nextQueue: space.nextQueueNumber() });
  // Before the queues: what a queue of the AQ dialect is, its table says.
  for (const object of space.catalog.all()) encodeEvent(buffer, { kind: 'objectDefined', ...object });
  for (const queue of queuesToDefine(space)) {
    encodeEvent(buffer, { kind: 'queueDefined', queue: queue.number, attributes: queue.attributes });
    if (queue.doomed) encodeEvent(buffer, { kind: 'queueDoomed', queue: queue.number });
    queue.armed.forEach((armed, threshold) => {
      if (armed) return;
      const set = { threshold: threshold as ThresholdKind, armed };
      encodeEvent(buffer, { kind: 'thresholdSet', queue: queue.number, ...set });
    });
  }
  for (const heuristic of space.heuristics.list()) encodeEvent(buffer, heuristic);
  for (const { number, prepared } of space.branches.prepared()) {
    if (prepared === null) continue;
    encodeEvent(buffer, { kind: 'branchPrepared', branch: number, ...prepared, enqueued: 0 });
  }
}

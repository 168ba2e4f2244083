// Opening a space: take over its log, replay every batch through `apply`, and hand out an engine that may serve. A local start is
// "take over, replay, serve" like any other [log port].
import { apply } from '../queue/apply.ts';
import type { LoggedEvent, RecordPlace, ThresholdKind } from '../queue/event.ts';
import { QueueSpace } from '../queue/space.ts';
import { LogError, type Batch, type LogStore, type RecordGroup } from '../wal/log-store.ts';
import { decodeEvent, encodeEvent } from './record.ts';
import { RecordBuffer } from './record-buffer.ts';
import { SpaceClock } from './space-clock.ts';
import { SpaceEngine, type EnginePorts } from './space-engine.ts';

/** Takes over the log and rebuilds the space from it. Rejects with a LogError when the log is damaged or held by another. */
export async function openSpace(
  store: LogStore,
  signal: AbortSignal,
  ports: EnginePorts,
): Promise<SpaceEngine> {
  const writer = await store.takeover('tmqueue', signal);
  const space = new QueueSpace(writer.spaceId);
  space.units.unitOf = (ref) => writer.unitOf(ref);
  const time = new SpaceClock(ports.clock);
  for await (const batch of writer.replay(0)) {
    signal.throwIfAborted();
    // A takeover's record is the log's own, and its space time is the one before the stop: no pair to learn from.
    if (batch.kind === 'takeover') continue;
    time.learn(batch.time);
    replayBatch(space, batch);
  }
  time.start();
  writer.setPreamble(() => definitions(space));
  return new SpaceEngine({ space, writer, store, time }, ports);
}

function replayBatch(space: QueueSpace, { records, ref, pos }: Batch): void {
  const [bytes] = records.bytes; // replay hands out a batch as one chunk
  if (bytes === undefined) return;
  for (let i = 0; i < records.count; i++) {
    const offset = records.starts[i] as number;
    const end = i + 1 < records.count ? (records.starts[i + 1] as number) : bytes.length;
    const place = { ref, offset, length: end - offset };
    apply(space, readEvent(bytes.subarray(offset, end), place, pos));
  }
}

function readEvent(record: Uint8Array, place: RecordPlace, pos: number): LoggedEvent {
  try {
    return decodeEvent(record, place);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new LogError('Corrupt', `batch at ${pos}, record at ${place.offset}: ${reason}`, { cause: error });
  }
}

/** What the log repeats at the start of each segment, so that it is readable from there on. */
function definitions(space: QueueSpace): RecordGroup {
  const buffer = new RecordBuffer();
  const { attributes } = space;
  encodeEvent(buffer, { kind: 'spaceDefined', attributes, nextQueue: space.nextQueueNumber() });
  // The doomed first: a queue of the same name may have been made since.
  for (const queue of [...space.doomedQueues(), ...space.queues()]) {
    encodeEvent(buffer, { kind: 'queueDefined', queue: queue.number, attributes: queue.attributes });
    if (queue.doomed) encodeEvent(buffer, { kind: 'queueDoomed', queue: queue.number });
    queue.armed.forEach((armed, threshold) => {
      if (armed) return;
      encodeEvent(buffer, {
        kind: 'thresholdSet',
        queue: queue.number,
        threshold: threshold as ThresholdKind,
        armed,
      });
    });
  }
  return buffer.group();
}

// Opening a space: take over its log, replay every batch through `apply`, and hand out an engine that may serve. A local start is
// "take over, replay, serve" like any other [log port].
import { beginLoading, endLoading } from '../queue/load.ts';
import { QueueSpace } from '../queue/space.ts';
import { LogError, type LogStore, type Pos } from '../wal/log-store.ts';
import { definitionRecords } from './definitions.ts';
import { Replay } from './replay.ts';
import { restore } from './restore.ts';
import { SpaceClock } from './space-clock.ts';
import { SpaceEngine, type EnginePorts } from './space-engine.ts';

/** How often a long recovery says how far it is, in milliseconds. */
const PROGRESS_MS = 5000;

/**
 * Takes over the log and rebuilds the space: from the newest checkpoint and what follows it, else from the whole log. Rejects with a LogError
 * when the log is damaged or held by another.
 */
export async function openSpace(
  store: LogStore,
  signal: AbortSignal,
  ports: EnginePorts,
): Promise<SpaceEngine> {
  const writer = await store.takeover('tmqueue', signal);
  const make = (): QueueSpace => {
    const space = new QueueSpace(writer.spaceId);
    space.units.unitOf = (ref) => writer.unitOf(ref);
    beginLoading(space);
    return space;
  };
  const { space, after, to, time: known } = await restore(store, make, { ulog: ports.ulog, signal });
  const { last } = store.stat();
  if (last < to) throw endsEarly(last, to);
  const time = new SpaceClock(ports.clock);
  if (known !== null) time.learn(known);
  const replay = new Replay(space);
  const progress = new Progress(ports, store.stat());
  let tail = 0;
  for await (const batch of writer.replay(after)) {
    signal.throwIfAborted();
    // A takeover's record is the log's own, and its space time is the one before the stop: no pair to learn from.
    if (batch.kind === 'takeover') continue;
    time.learn(batch.time);
    replay.batch(batch);
    tail += batch.records.bytes[0]?.length ?? 0;
    progress.at(batch.pos);
  }
  endLoading(space);
  time.start();
  for (const queue of space.queues()) queue.beginCounts();
  writer.setPreamble(() => definitionRecords(space).group());
  return new SpaceEngine({ space, writer, store, time, tail }, ports);
}

function endsEarly(last: Pos, to: Pos): LogError {
  return new LogError('Corrupt', `the log ends at ${last}, before the end of its checkpoint at ${to}`);
}

/** Says how far a long recovery is. */
class Progress {
  private readonly ports: EnginePorts;
  private readonly first: Pos;
  private saidMs: number;

  constructor(ports: EnginePorts, { first }: { first: Pos }) {
    this.ports = ports;
    this.first = first;
    this.saidMs = ports.clock.monoMs();
  }

  at(pos: Pos): void {
    const { clock, ulog } = this.ports;
    if (clock.monoMs() - this.saidMs < PROGRESS_MS) return;
    this.saidMs = clock.monoMs();
    ulog.info('recovery goes on', { megabytesRead: Math.round((pos - this.first) / 1e6) });
  }
}

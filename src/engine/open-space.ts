// Opening a space: take over its log, replay every batch through `apply`, and hand out an engine that may serve. A local start is
// "take over, replay, serve" like any other [log port].
import { beginLoading, endLoading } from '../queue/load.ts';
import { QueueSpace } from '../queue/space.ts';
import { LogError, type LogStore, type Pos, type SnapshotInfo } from '../wal/log-store.ts';
import { definitionRecords } from './definitions.ts';
import { IdTimes } from './id-times.ts';
import { Replay } from './replay.ts';
import { restore } from './restore.ts';
import { SpaceClock } from './space-clock.ts';
import { SpaceEngine, type EnginePorts } from './space-engine.ts';

/** How often a long recovery says how far it is, in milliseconds. */
const PROGRESS_MS = 5000;
/** Reading gives the loop a turn this often, in milliseconds: whoever asks how far it is gets an answer. */
const TURN_MS = 25;

export interface OpenPorts extends EnginePorts {
  /** Told now and then which share of what there is to read was read: 0 to 1. */
  readonly onProgress?: (share: number) => void;
}

/**
 * Takes over the log and rebuilds the space: from the newest checkpoint and what follows it, else from the whole log. Rejects with a LogError
 * when the log is damaged or held by another.
 */
export async function openSpace(
  store: LogStore,
  signal: AbortSignal,
  ports: OpenPorts,
): Promise<SpaceEngine> {
  const writer = await store.takeover('tmqueue', signal);
  const make = (): QueueSpace => {
    const space = new QueueSpace(writer.spaceId);
    space.units.unitOf = (ref) => writer.unitOf(ref);
    beginLoading(space);
    return space;
  };
  const progress = new Progress(ports, store.stat());
  const onRead = progress.checkpoint.bind(progress);
  const { space, after, to, time: known } = await restore(store, make, { ulog: ports.ulog, signal, onRead });
  const { last } = store.stat();
  if (last < to) throw endsEarly(last, to);
  const time = new SpaceClock(ports.clock);
  const ids = new IdTimes(() => space.messages.latest);
  time.ids = ids;
  if (known !== null) {
    time.learn(known);
    ids.note(known.space);
  }
  const replay = new Replay(space);
  progress.beginLog(after);
  let tail = 0;
  for await (const batch of writer.replay(after)) {
    signal.throwIfAborted();
    // A takeover's record is the log's own, and its space time is the one before the stop: no pair to learn from.
    if (batch.kind === 'takeover') continue;
    time.learn(batch.time);
    replay.batch(batch);
    ids.note(batch.time.space);
    tail += batch.records.bytes[0]?.length ?? 0;
    const turn = progress.at(batch.pos);
    if (turn !== null) await turn;
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

/** Says how far a long recovery is: bytes of the checkpoint and of the log that follows it, of all that there are. */
class Progress {
  private readonly ports: OpenPorts;
  private readonly log: { readonly first: Pos; readonly last: Pos };
  private saidMs: number;
  private turnMs: number;
  /** Bytes of the checkpoint, and where the log's part begins. */
  private checkpointBytes = 0;
  private from: Pos;

  constructor(ports: OpenPorts, log: { readonly first: Pos; readonly last: Pos }) {
    this.ports = ports;
    this.log = log;
    this.from = log.first;
    this.saidMs = ports.clock.monoMs();
    this.turnMs = this.saidMs;
  }

  checkpoint(bytes: number, { from, bytes: all }: SnapshotInfo): void {
    this.checkpointBytes = all;
    this.from = from;
    this.tell(bytes);
  }

  /** What `checkpoint` said was of use, or else everything is read from the log. */
  beginLog(after: Pos): void {
    if (after === 0) this.checkpointBytes = 0;
    this.from = Math.max(after, this.log.first);
    this.tell(this.checkpointBytes);
  }

  /** A turn of the loop to wait for, or null. */
  at(pos: Pos): Promise<void> | null {
    const { clock, ulog, soon } = this.ports;
    const nowMs = clock.monoMs();
    if (nowMs - this.turnMs < TURN_MS) return null;
    this.tell(this.checkpointBytes + (pos - this.from));
    if (nowMs - this.saidMs >= PROGRESS_MS) {
      this.saidMs = nowMs;
      ulog.info('recovery goes on', { megabytesRead: Math.round((pos - this.log.first) / 1e6) });
    }
    return new Promise((resolve) => {
      soon(() => {
        this.turnMs = clock.monoMs();
        resolve();
      });
    });
  }

  private tell(bytes: number): void {
    const all = this.checkpointBytes + (this.log.last - this.from);
    this.ports.onProgress?.(all <= 0 ? 1 : Math.min(1, bytes / all));
  }
}

// Checkpoints of a log in memory, with the rules of the port. A test can damage one.

import { LogError } from '../log-store.ts';
import type { Epoch, Pos, SnapshotInfo, SnapshotStore, SnapshotWriter } from '../log-store.ts';

interface Kept {
  readonly info: SnapshotInfo;
  readonly chunks: readonly Uint8Array[];
  damaged: boolean;
}

const KEPT = 2;

export class MemorySnapshots implements SnapshotStore {
  private kept: Kept[] = [];
  private readonly durablePos: () => Pos;
  private readonly epoch: () => Epoch;
  private made = 0;

  constructor(log: { readonly durablePos: () => Pos; readonly epoch: () => Epoch }) {
    this.durablePos = log.durablePos;
    this.epoch = log.epoch;
  }

  begin(from: Pos, epoch: Epoch): Promise<SnapshotWriter> {
    const chunks: Uint8Array[] = [];
    return Promise.resolve({
      write: (chunk: Uint8Array) => {
        chunks.push(chunk.slice());
        return Promise.resolve();
      },
      commit: (to: Pos) => {
        if (epoch !== this.epoch())
          return Promise.reject(new LogError('Fenced', 'a checkpoint of a writer that lost the log'));
        if (to > this.durablePos())
          return Promise.reject(new LogError('Unavailable', `a checkpoint to ${to}: not durable yet`));
        this.made++;
        const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
        const info = { id: `checkpoint ${this.made}`, from, to, bytes };
        this.kept = [{ info, chunks, damaged: false }, ...this.kept].slice(0, KEPT);
        return Promise.resolve(info);
      },
      abort: () => Promise.resolve(),
    });
  }

  list(): Promise<SnapshotInfo[]> {
    return Promise.resolve(this.kept.map(({ info }) => info));
  }

  // eslint-disable-next-line @typescript-eslint/require-await
  async *read(id: string): AsyncGenerator<Uint8Array, void> {
    const found = this.kept.find(({ info }) => info.id === id);
    if (found === undefined) throw new LogError('Corrupt', `${id} does not exist`);
    yield* found.chunks;
    if (found.damaged) throw new LogError('Corrupt', `${id}: its checksum does not fit`);
  }

  remove(id: string): Promise<void> {
    this.kept = this.kept.filter(({ info }) => info.id !== id);
    return Promise.resolve();
  }

  /** For tests: the newest `count` no longer read well. */
  damage(count = KEPT): void {
    for (const one of this.kept.slice(0, count)) one.damaged = true;
  }
}

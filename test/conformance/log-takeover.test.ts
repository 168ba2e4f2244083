// Invariants 7 and 8 of the log port, for every log engine: a takeover is complete, trim is harmless, and what a snapshot is worth.

import { describe, expect, test } from 'vitest';
import type { LogStore, LogWriter, SnapshotInfo } from '../../src/wal/log-store.ts';
import {
  ALWAYS,
  appendMany,
  AT,
  ENGINES,
  filled,
  group,
  keep,
  settles,
  SIZES,
  start,
} from './log-engines.ts';

describe.each(ENGINES)('%s', (name, makeEngine) => {
  test('7. Takeover is complete: replay yields every acknowledged batch of all earlier epochs', async () => {
    const engine = makeEngine();
    const acknowledged: { ref: number; bytes: string }[] = [];
    let kept = 0;
    for (let life = 0; life < 4; life++) {
      const { writer, data } = await start(await engine.open());
      expect(data.slice(-acknowledged.length || Infinity).map(({ ref, bytes }) => ({ ref, bytes }))).toEqual(
        acknowledged,
      );
      const refs = await appendMany(writer, SIZES);
      acknowledged.push(...refs.map((ref, i) => ({ ref, bytes: filled(i, SIZES[i] ?? 0) })));
      await writer.trim(refs[life] ?? 0);
      kept = acknowledged.findIndex(({ ref }) => ref === refs[life]);
      acknowledged.splice(0, kept);
    }
    expect(kept).toBeGreaterThan(0);
  });

  test('7. Takeover is complete: with a batch missing in the middle it throws Corrupt', async () => {
    const engine = makeEngine();
    const { writer } = await start(await engine.open());
    await appendMany(writer, SIZES);
    await start(await engine.open());
    const { data } = await start(await engine.open());
    const spoilt = data[2];
    if (spoilt === undefined) throw new Error('there are more batches than that');
    const store = await engine.open();
    engine.damage(spoilt);
    await expect(start(store)).rejects.toMatchObject({ kind: 'Corrupt' });
  });

  test('7. Takeover is complete: a snapshot that the log no longer reaches back to is left for the newest', async () => {
    const engine = makeEngine();
    const { writer, store } = await startStore(await engine.open());
    const machine = new Machine();
    await machine.grow(writer, 20);
    await machine.checkpoint(store, writer);
    await machine.grow(writer, 20);
    await machine.checkpoint(store, writer);
    const newest = (await store.snapshots.list())[0];
    await machine.grow(writer, 20);
    const { ref, durable } = writer.append(group('x'.repeat(200_000)), AT);
    await durable;
    // As reclaim does: what is live in front is said once more behind, then the front goes.
    await machine.restate(writer);
    await writer.trim(ref);
    const again = await engine.open();
    expect(again.stat().first === 0 || again.stat().first > (newest?.from ?? 0)).toBe(true);
    const recovered = await recover(again);
    expect(recovered.used).toBeNull();
    expect(recovered.state).toEqual(machine.state);
  });

  test('8. Trim is harmless from a zombie: it is refused, and one under way takes nothing that is needed', async () => {
    const engine = makeEngine();
    const store = await engine.open();
    const { writer: old } = await start(store);
    const refs = await appendMany(old, [...SIZES, ...SIZES]);
    const trimming = settles(old.trim(refs[12] ?? 0));
    const { writer, batches } = await start(store);
    await trimming;
    const { first } = store.stat();
    for (const ref of [refs[15] ?? 0, writer.nextRef])
      await expect(old.trim(ref)).rejects.toMatchObject({ kind: 'Fenced' });
    await expect(old.trimBefore(old.unitOf(writer.nextRef))).rejects.toMatchObject({ kind: 'Fenced' });
    expect(store.stat().first).toBe(first);
    await writer.append(group('on'), AT).durable;
    const { data } = await start(await engine.open());
    expect(data.map(({ ref }) => ref)).toEqual(expect.arrayContaining(refs.slice(12)));
    const before = batches.filter(({ kind }) => kind === 'data');
    expect(data.slice(-1 - before.length, -1)).toEqual(before);
  });

  test('8. A snapshot and the batches from `from` give the state of the prefix, whichever snapshot it is', async () => {
    const engine = makeEngine();
    const { writer, store } = await startStore(await engine.open());
    const machine = new Machine();
    await machine.grow(writer, 20);
    await machine.checkpoint(store, writer);
    await machine.grow(writer, 20);
    const newest = await machine.checkpoint(store, writer);
    // Few: what came while it was taken is not said again.
    await machine.grow(writer, 3);
    const { state, used } = await recover(await engine.open());
    expect(used).toEqual(newest);
    expect(state).toEqual(machine.state);
    for (let left = 2; left > 0; left--) {
      const again = await engine.open();
      const found = await recover(again);
      expect(found.used).not.toBeNull();
      expect(found.state).toEqual(machine.state);
      await again.snapshots.remove(found.used?.id ?? '');
      expect(await again.snapshots.list()).toHaveLength(left - 1);
    }
    expect(await recover(await engine.open())).toEqual({ used: null, state: machine.state });
  });

  test('8. commit(to) rejects unless the log is durable through `to`', async () => {
    const { writer, store } = await startStore(await makeEngine().open());
    const { durable: first } = writer.append(group('a=1'), AT);
    await first;
    const snapshot = await store.snapshots.begin(writer.lastPos, writer.epoch);
    await snapshot.write(Buffer.from('a=1;'));
    await expect(snapshot.commit(writer.nextRef)).rejects.toMatchObject({ kind: 'Unavailable' });
    const { durable } = writer.append(group('b=2'), AT);
    const to = writer.lastPos;
    if (/worker|memory$/.test(name))
      await expect(snapshot.commit(to)).rejects.toMatchObject({ kind: 'Unavailable' });
    await durable;
    expect(await store.snapshots.list()).toEqual([]);
    const info = await snapshot.commit(to);
    expect(info).toMatchObject({ to, bytes: 4 });
    expect(await store.snapshots.list()).toEqual([info]);
  });

  test('8. A snapshot goes only when its successor is in place, and a fenced writer puts none there', async () => {
    const engine = makeEngine();
    const { writer, store } = await startStore(await engine.open());
    const machine = new Machine();
    const made: SnapshotInfo[] = [];
    for (let i = 0; i < 3; i++) {
      await machine.grow(writer, 10);
      const before = await store.snapshots.list();
      const snapshot = await store.snapshots.begin(writer.lastPos, writer.epoch);
      await snapshot.write(Buffer.from(machine.text()));
      expect(await store.snapshots.list()).toEqual(before);
      made.unshift(await snapshot.commit(writer.lastPos));
      expect(await store.snapshots.list()).toEqual(made.slice(0, 2));
    }
    const given = await store.snapshots.begin(writer.lastPos, writer.epoch);
    await given.write(Buffer.from('given up'));
    await given.abort();
    const torn = await store.snapshots.begin(writer.lastPos, writer.epoch);
    await torn.write(Buffer.from('half of '));
    // The process ends here; another one comes.
    const after = await engine.open();
    const { writer: next } = await start(after);
    expect(await after.snapshots.list()).toEqual(made.slice(0, 2));
    const zombie = await after.snapshots.begin(next.lastPos, next.epoch);
    await zombie.write(Buffer.from('a=what the log never took'));
    const { writer: last } = await start(after);
    await last.append(group('b=2'), AT).durable;
    await expect(zombie.commit(last.lastPos)).rejects.toMatchObject({ kind: 'Fenced' });
    expect(await after.snapshots.list()).toEqual(made.slice(0, 2));
    expect((await recover(await engine.open())).state.get('b')).toBe('2');
  });
});

/** What every machine above a log is like: its records, applied in order, are its state. */
class Machine {
  readonly state = new Map<string, string>();
  private made = 0;

  async grow(writer: LogWriter, batches: number): Promise<void> {
    for (let i = 0; i < batches; i++) {
      this.made++;
      const records = [`${this.made % 17}=${this.made}`, `${this.made % 5}=${'x'.repeat(this.made * 17)}`];
      const { durable } = writer.append(group(...records), AT);
      for (const record of records) put(this.state, record);
      await durable;
    }
  }

  /** Rows of different moments, as they are passed: work goes on meanwhile. */
  async checkpoint(store: LogStore, writer: LogWriter): Promise<SnapshotInfo> {
    const snapshot = await store.snapshots.begin(writer.lastPos, writer.epoch);
    for (const key of Array.from(this.state.keys())) {
      await snapshot.write(Buffer.from(`${key}=${this.state.get(key)};`));
      await this.grow(writer, 1);
    }
    return snapshot.commit(writer.lastPos);
  }

  async restate(writer: LogWriter): Promise<void> {
    await writer.append(group(...[...this.state].map(([key, value]) => `${key}=${value}`)), AT).durable;
  }

  text(): string {
    return [...this.state].map(([key, value]) => `${key}=${value};`).join('');
  }
}

function put(state: Map<string, string>, record: string): void {
  const at = record.indexOf('=');
  if (at > 0) state.set(record.slice(0, at), record.slice(at + 1));
}

/** As the port says it: the newest snapshot that the log still reaches back to, then what follows its `from`. */
async function recover(store: LogStore): Promise<{ used: SnapshotInfo | null; state: Map<string, string> }> {
  const writer = await store.takeover('suite', ALWAYS);
  writer.setPreamble(() => group('preamble'));
  const { first, last: end } = store.stat();
  const used = (await store.snapshots.list()).find(({ from }) => from >= first) ?? null;
  const state = new Map<string, string>();
  if (used !== null) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of store.snapshots.read(used.id)) chunks.push(chunk.slice());
    for (const row of Buffer.concat(chunks).toString('latin1').split(';')) put(state, row);
    expect(end).toBeGreaterThanOrEqual(used.to);
  }
  for await (const batch of writer.replay(used?.from ?? 0)) {
    const { bytes, starts, kind } = keep(batch);
    if (kind === 'data') starts.forEach((from, i) => put(state, bytes.slice(from, starts[i + 1])));
  }
  return { used, state };
}

async function startStore(store: LogStore): Promise<{ store: LogStore; writer: LogWriter }> {
  const { writer } = await start(store);
  return { store, writer };
}

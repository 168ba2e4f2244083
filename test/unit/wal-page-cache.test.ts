// The page cache: what is in memory, what is loaded, what is given up.

import { describe, expect, test } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import { LogPages, PAGE_BYTES, PageCache } from '../../src/wal/local/page-cache.ts';
import type { PageSource } from '../../src/wal/local/page-cache.ts';

/** A log of known bytes; counts what is read from it. */
class Source implements PageSource {
  readonly bytes: Uint8Array;
  readonly loads: number[] = [];
  failing = false;

  constructor(length: number) {
    this.bytes = new Uint8Array(length);
    for (let i = 0; i < length; i += 4) new DataView(this.bytes.buffer).setUint32(i, i, true);
  }

  async load(position: number, into: Uint8Array): Promise<number> {
    this.loads.push(position / PAGE_BYTES);
    await Promise.resolve();
    if (this.failing) throw new Error('EIO');
    into.set(this.bytes.subarray(position, position + into.length));
    return Math.min(this.bytes.length, position + into.length);
  }
}

function wordAt(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
}

async function readWord(pages: LogPages, position: number): Promise<number> {
  const into = new Uint8Array(4);
  await pages.read(position, into);
  return wordAt(into);
}

describe('page cache', () => {
  test('what was appended is there at once, across pages too', () => {
    const pages = new LogPages(new PageCache(), new Source(0), PAGE_BYTES);
    const source = new Source(3 * PAGE_BYTES);
    pages.append(0, source.bytes.subarray(0, PAGE_BYTES + 100));
    pages.append(PAGE_BYTES + 100, source.bytes.subarray(PAGE_BYTES + 100));
    for (const at of [0, PAGE_BYTES - 4, PAGE_BYTES - 2, PAGE_BYTES + 96, 3 * PAGE_BYTES - 8]) {
      expect(pages.view(at, 8)).toEqual(Buffer.from(source.bytes.subarray(at, at + 8)));
    }
    const both = pages.view(0, 2 * PAGE_BYTES) ?? new Uint8Array(0);
    expect(Buffer.compare(both, source.bytes.subarray(0, 2 * PAGE_BYTES))).toBe(0);
    expect(pages.view(3 * PAGE_BYTES - 4, 8)).toBeNull();
    expect(pages.word(PAGE_BYTES)).toBe(PAGE_BYTES);
    expect(pages.word(4 * PAGE_BYTES)).toBe(-1);
  });

  test('a miss loads the page once, however many ask', async () => {
    const source = new Source(10 * PAGE_BYTES);
    const pages = new LogPages(new PageCache(), source, PAGE_BYTES);
    expect(pages.view(5 * PAGE_BYTES, 4)).toBeNull();
    const words = await Promise.all([8, 16, 24].map((at) => readWord(pages, 5 * PAGE_BYTES + at)));
    expect(words).toEqual([8, 16, 24].map((at) => 5 * PAGE_BYTES + at));
    expect(source.loads).toEqual([5]);
    expect(pages.view(5 * PAGE_BYTES + 4, 4)).not.toBeNull();
  });

  test('reading in order reads ahead, jumping does not', async () => {
    const source = new Source(40 * PAGE_BYTES);
    const pages = new LogPages(new PageCache(), source, PAGE_BYTES);
    for (const index of [3, 9, 20]) await readWord(pages, index * PAGE_BYTES);
    expect(source.loads).toEqual([3, 9, 20]);
    await readWord(pages, 21 * PAGE_BYTES);
    expect(source.loads).toEqual([3, 9, 20, 21, 22, 23, 24, 25]);
    for (let index = 22; index < 40; index++) {
      await new Promise(setImmediate);
      expect(pages.view(index * PAGE_BYTES, 4), `page ${index}`).not.toBeNull();
    }
    expect(new Set(source.loads).size).toBe(source.loads.length);
    // From further front it works again.
    for (const index of [5, 6]) await readWord(pages, index * PAGE_BYTES);
    await new Promise(setImmediate);
    expect([7, 8, 9, 10].map((index) => pages.view(index * PAGE_BYTES, 4))).not.toContain(null);
  });

  test('the page least recently used goes first; the one appended to stays', async () => {
    const source = new Source(20 * PAGE_BYTES);
    const pages = new LogPages(new PageCache(4 * PAGE_BYTES), source, PAGE_BYTES);
    pages.append(30 * PAGE_BYTES, new Uint8Array(8));
    for (const index of [2, 6, 10]) await readWord(pages, index * PAGE_BYTES);
    expect(pages.view(2 * PAGE_BYTES, 4)).not.toBeNull();
    await readWord(pages, 14 * PAGE_BYTES);
    expect(pages.view(6 * PAGE_BYTES, 4)).toBeNull();
    expect(pages.view(2 * PAGE_BYTES, 4)).not.toBeNull();
    expect(pages.view(30 * PAGE_BYTES, 8)).not.toBeNull();
  });

  test('filled pages stay until they are written, also over budget', () => {
    const pages = new LogPages(new PageCache(4 * PAGE_BYTES), new Source(0), PAGE_BYTES);
    pages.append(0, new Uint8Array(10 * PAGE_BYTES));
    expect(pages.slices(0, 10 * PAGE_BYTES)).toHaveLength(10);
    pages.releaseFilled();
    pages.append(10 * PAGE_BYTES, new Uint8Array(6 * PAGE_BYTES));
    expect(pages.view(0, 8)).toBeNull();
  });

  test('two logs share the budget and never each other’s bytes', async () => {
    const cache = new PageCache(6 * PAGE_BYTES);
    const logs = [new Source(12 * PAGE_BYTES), new Source(12 * PAGE_BYTES)].map((source, i) => {
      source.bytes.fill(i + 1);
      return { source, pages: new LogPages(cache, source, PAGE_BYTES), mark: i + 1 };
    });
    const prng = new Prng(3);
    for (let i = 0; i < 150; i++) {
      const log = logs[prng.below(2)];
      const into = new Uint8Array(prng.between(1, 3 * PAGE_BYTES));
      await log?.pages.read(prng.below(9 * PAGE_BYTES), into);
      expect(Buffer.compare(into, Buffer.alloc(into.length, log?.mark))).toBe(0);
    }
    logs[0]?.pages.close();
    expect(logs[0]?.pages.view(0, 1)).toBeNull();
    await logs[1]?.pages.read(0, new Uint8Array(8));
  });

  test('long reads go past the pages', async () => {
    const source = new Source(20 * PAGE_BYTES);
    const pages = new LogPages(new PageCache(), source, PAGE_BYTES);
    const into = new Uint8Array(6 * PAGE_BYTES);
    await pages.read(PAGE_BYTES + 4, into);
    expect(wordAt(into)).toBe(PAGE_BYTES + 4);
    expect(source.loads.length).toBe(1);
    expect(pages.view(2 * PAGE_BYTES, 4)).toBeNull();
  });

  test('a failed load leaves nothing behind and can be tried again', async () => {
    const source = new Source(4 * PAGE_BYTES);
    const pages = new LogPages(new PageCache(), source, PAGE_BYTES);
    source.failing = true;
    await expect(readWord(pages, 0)).rejects.toThrow('EIO');
    source.failing = false;
    expect(await readWord(pages, 8)).toBe(8);
    await expect(readWord(pages, 4 * PAGE_BYTES - 2)).rejects.toThrow('the log ends at');
  });

  test('a tail page that begins in the middle of the log is complete', async () => {
    const source = new Source(2 * PAGE_BYTES);
    const pages = new LogPages(new PageCache(), source, PAGE_BYTES);
    const end = PAGE_BYTES + 1000;
    pages.startTail(end, source.bytes.slice(pages.tailStart(end), end));
    pages.append(end, new Uint8Array([7, 7, 7, 7]));
    expect(pages.word(PAGE_BYTES + 8)).toBe(PAGE_BYTES + 8);
    expect(pages.view(end, 4)).toEqual(Buffer.from([7, 7, 7, 7]));
    pages.drop(PAGE_BYTES, 2 * PAGE_BYTES);
    expect(pages.view(end, 4)).not.toBeNull();
    expect(await readWord(pages, 4)).toBe(4);
    pages.drop(0, PAGE_BYTES);
    expect(pages.view(4, 4)).toBeNull();
  });

  test('a load that ends after the log was closed is refused', async () => {
    const source = new Source(PAGE_BYTES);
    const pages = new LogPages(new PageCache(), source, PAGE_BYTES);
    const reading = readWord(pages, 0);
    pages.close();
    await expect(reading).rejects.toThrow('closed');
  });
});

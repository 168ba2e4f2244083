// Recent and read-ahead bytes of the logs of one process, in pages of 256 KiB over log positions, under one budget.
// Invariants: a page's bytes are valid from its start to `end`; the page a log appends to is pinned and complete from its start; a view
// that was handed out is good until the next call of any log or the next `await`. It must not know frames, records or files: a
// `PageSource` reads what is missing.

import { assert } from '../../base/assert.ts';

export const PAGE_BYTES = 256 * 1024;
export const CACHE_BYTES_DEFAULT = 64 * 1024 * 1024;
/** Longer reads go past the pages, and `view` does not assemble them. */
const DIRECT_BYTES = 1024 * 1024;
const READ_AHEAD_PAGES = 4;

export interface PageSource {
  /** Reads from a position and returns the position up to which the bytes are the log's. */
  load(position: number, into: Uint8Array): Promise<number>;
}

class Page {
  readonly bytes = Buffer.allocUnsafeSlow(PAGE_BYTES);
  owner: LogPages | null = null;
  index = -1;
  end = 0;
  pinned = false;
  older: Page | null = null;
  newer: Page | null = null;
}

export class PageCache {
  readonly #pagesMax: number;
  readonly budgetBytes: number;
  #pagesMade = 0;
  readonly #free: Page[] = [];
  #oldest: Page | null = null;
  #newest: Page | null = null;
  /** Where a body that spans pages is put together. */
  readonly scratch = Buffer.allocUnsafeSlow(DIRECT_BYTES);

  constructor(budgetBytes: number = CACHE_BYTES_DEFAULT) {
    this.budgetBytes = budgetBytes;
    this.#pagesMax = Math.max(4, Math.floor(budgetBytes / PAGE_BYTES));
  }

  /** A page nobody owns, not yet in the order of use. Over budget only when all pages are pinned or being loaded. */
  take(): Page {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    if (this.#pagesMade >= this.#pagesMax) {
      for (let page = this.#oldest; page !== null; page = page.newer) {
        if (page.pinned) continue;
        page.owner?.evicted(page.index);
        this.unlink(page);
        return page;
      }
    }
    this.#pagesMade++;
    return new Page();
  }

  /**
   * Makes one page ahead of need and touches its memory: the first use of fresh memory costs a commit more than all the rest of its work.
   * False: the budget is made.
   */
  makeAhead(): boolean {
    if (this.#pagesMade >= this.#pagesMax) return false;
    this.#pagesMade++;
    const page = new Page();
    page.bytes.fill(0);
    this.#free.push(page);
    return true;
  }

  giveBack(page: Page): void {
    page.owner = null;
    page.pinned = false;
    if (this.#pagesMade > this.#pagesMax) this.#pagesMade--;
    else this.#free.push(page);
  }

  touch(page: Page): void {
    if (page === this.#newest) return;
    this.unlink(page);
    this.link(page);
  }

  link(page: Page): void {
    page.older = this.#newest;
    if (this.#newest === null) this.#oldest = page;
    else this.#newest.newer = page;
    this.#newest = page;
  }

  unlink(page: Page): void {
    if (page.older === null) this.#oldest = page.newer;
    else page.older.newer = page.newer;
    if (page.newer === null) this.#newest = page.older;
    else page.newer.older = page.older;
    page.older = null;
    page.newer = null;
  }
}

/** The pages of one log. */
export class LogPages {
  readonly #cache: PageCache;
  readonly #source: PageSource;
  /** The page size of this log: smaller than 256 KiB when its segments are. */
  readonly #pageBytes: number;
  readonly #pages = new Map<number, Page>();
  readonly #loading = new Map<number, Promise<Page>>();
  #tail: Page | null = null;
  /** Filled pages that are not written yet: they stay where they are. */
  #filled: Page[] = [];
  #lastMiss = -2;
  /** Reaching this page while reading in order loads the next ones. */
  #aheadFrom = -1;
  #aheadTo = -1;
  #closed = false;

  constructor(cache: PageCache, source: PageSource, pageBytes: number) {
    assert(pageBytes <= PAGE_BYTES, 'a page fits its buffer');
    this.#cache = cache;
    this.#source = source;
    this.#pageBytes = pageBytes;
  }

  /** Bytes that are in memory, or null. */
  view(position: number, length: number): Uint8Array | null {
    const index = Math.floor(position / this.#pageBytes);
    const page = this.#pages.get(index);
    if (page === undefined) return null;
    const offset = position - index * this.#pageBytes;
    if (offset + length > this.#pageBytes) return this.#assembled(position, length);
    if (position + length > page.end) return null;
    this.#used(page);
    return page.bytes.subarray(offset, offset + length);
  }

  /** The word at a position that is a multiple of 4, or -1. */
  word(position: number): number {
    const index = Math.floor(position / this.#pageBytes);
    const page = this.#pages.get(index);
    if (page === undefined || position + 4 > page.end) return -1;
    return page.bytes.readUInt32LE(position - index * this.#pageBytes);
  }

  /** Fills `into` from memory, else from the source. */
  async read(position: number, into: Uint8Array): Promise<void> {
    if (this.#copyPresent(position, into)) return;
    if (into.length > DIRECT_BYTES) {
      const end = await this.#source.load(position, into);
      if (end < position + into.length)
        throw new Error(`the log ends at ${end}, before ${position + into.length}`);
      return;
    }
    for (let done = 0; done < into.length;) {
      const at = position + done;
      const index = Math.floor(at / this.#pageBytes);
      const offset = at - index * this.#pageBytes;
      const length = Math.min(this.#pageBytes - offset, into.length - done);
      const page = this.#present(index, at + length) ?? (await this.#miss(index));
      // Between the end of a load and this line another load may have taken the page: then its bytes are another's.
      if (this.#pages.get(index) !== page) continue;
      if (at + length > page.end) throw new Error(`the log ends at ${page.end}, before ${at + length}`);
      into.set(page.bytes.subarray(offset, offset + length), done);
      done += length;
    }
  }

  /** Adds bytes at the end. Assumes: they follow what was added last, or begin a page. */
  append(position: number, bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length;) {
      const at = position + done;
      const page = this.#tailFor(at);
      const offset = at - page.index * this.#pageBytes;
      const length = Math.min(this.#pageBytes - offset, bytes.length - done);
      page.bytes.set(length === bytes.length ? bytes : bytes.subarray(done, done + length), offset);
      page.end = at + length;
      done += length;
    }
  }

  /** What was just appended from `from` to `to`, as views of the pages. */
  slices(from: number, to: number): Uint8Array[] {
    const result: Uint8Array[] = [];
    for (let at = from; at < to;) {
      const index = Math.floor(at / this.#pageBytes);
      const page = this.#pages.get(index);
      const end = Math.min(to, (index + 1) * this.#pageBytes);
      assert(page !== undefined && page.end >= end, 'the pages of a frame in the making are present');
      result.push(page.bytes.subarray(at - index * this.#pageBytes, end - index * this.#pageBytes));
      at = end;
    }
    return result;
  }

  /** Makes the page that holds `position` the one appended to; `bytes` are what stands in it before `position`. */
  startTail(position: number, bytes: Uint8Array): void {
    const start = position - bytes.length;
    assert(start % this.#pageBytes === 0, 'the tail page is complete from its start');
    this.#releaseTail();
    if (bytes.length > 0) this.append(start, bytes);
  }

  /** What was appended is written: only the tail page has to stay. */
  releaseFilled(): void {
    if (this.#filled.length === 0) return;
    for (const page of this.#filled) page.pinned = false;
    this.#filled = [];
  }

  tailStart(position: number): number {
    return Math.floor(position / this.#pageBytes) * this.#pageBytes;
  }

  /** Forgets everything from `from` up to `to`, both multiples of the page size. */
  drop(from: number, to: number): void {
    for (let index = from / this.#pageBytes; index < to / this.#pageBytes; index++) {
      const page = this.#pages.get(index);
      if (page !== undefined && !page.pinned) this.#remove(page);
    }
  }

  close(): void {
    this.#closed = true;
    this.#releaseTail();
    this.releaseFilled();
    for (const page of this.#pages.values()) this.#remove(page);
  }

  /** Told by the cache that a page is wanted elsewhere. */
  evicted(index: number): void {
    this.#pages.delete(index);
  }

  #used(page: Page): void {
    this.#cache.touch(page);
    if (page.index >= this.#aheadFrom && this.#aheadFrom >= 0 && page.index <= this.#aheadTo)
      this.#readAhead(page.index);
  }

  #present(index: number, end: number): Page | null {
    const page = this.#pages.get(index);
    if (page === undefined || page.end < end) return null;
    this.#used(page);
    return page;
  }

  #copyPresent(position: number, into: Uint8Array): boolean {
    const end = position + into.length;
    const first = Math.floor(position / this.#pageBytes);
    const last = Math.floor((end - 1) / this.#pageBytes);
    for (let index = first; index <= last; index++) {
      const page = this.#pages.get(index);
      if (page === undefined || page.end < Math.min(end, (index + 1) * this.#pageBytes)) return false;
    }
    for (let index = first; index <= last; index++) {
      const page = this.#pages.get(index);
      assert(page !== undefined, 'the page was there a moment ago');
      const start = index * this.#pageBytes;
      const from = Math.max(position, start);
      const to = Math.min(end, start + this.#pageBytes);
      into.set(page.bytes.subarray(from - start, to - start), from - position);
      this.#used(page);
    }
    return true;
  }

  #assembled(position: number, length: number): Uint8Array | null {
    if (length > DIRECT_BYTES) return null;
    const target = this.#cache.scratch.subarray(0, length);
    return this.#copyPresent(position, target) ? target : null;
  }

  async #miss(index: number): Promise<Page> {
    const inOrder = index === this.#lastMiss + 1 || index === this.#aheadTo + 1;
    this.#lastMiss = index;
    const loaded = this.#load(index);
    if (inOrder) this.#readAhead(index);
    return loaded;
  }

  /** Not at once: a load may take the page whose view is just being handed out. */
  #readAhead(index: number): void {
    const goesOn = this.#aheadTo > index && this.#aheadTo <= index + READ_AHEAD_PAGES;
    const from = (goesOn ? this.#aheadTo : index) + 1;
    this.#aheadTo = index + READ_AHEAD_PAGES;
    this.#aheadFrom = index + READ_AHEAD_PAGES / 2;
    const to = this.#aheadTo;
    queueMicrotask(() => {
      for (let next = from; next <= to && !this.#closed; next++) {
        if (!this.#pages.has(next)) this.#load(next).catch(() => {});
      }
    });
  }

  /** Concurrent misses of one page share one read. */
  #load(index: number): Promise<Page> {
    const running = this.#loading.get(index);
    if (running !== undefined) return running;
    const promise = this.#loadNow(index).finally(() => this.#loading.delete(index));
    this.#loading.set(index, promise);
    return promise;
  }

  async #loadNow(index: number): Promise<Page> {
    const page = this.#cache.take();
    try {
      page.end = await this.#source.load(index * this.#pageBytes, page.bytes.subarray(0, this.#pageBytes));
    } catch (error) {
      this.#cache.giveBack(page);
      throw error;
    }
    const present = this.#pages.get(index);
    if (this.#closed || (present !== undefined && (present.pinned || present.end >= page.end))) {
      this.#cache.giveBack(page);
      if (present === undefined) throw new Error('the log was closed');
      return present;
    }
    if (present !== undefined) this.#remove(present);
    this.#insert(page, index);
    return page;
  }

  #insert(page: Page, index: number): void {
    page.owner = this;
    page.index = index;
    this.#pages.set(index, page);
    this.#cache.link(page);
  }

  #remove(page: Page): void {
    this.#pages.delete(page.index);
    this.#cache.unlink(page);
    this.#cache.giveBack(page);
  }

  #tailFor(position: number): Page {
    const index = Math.floor(position / this.#pageBytes);
    if (this.#tail !== null && this.#tail.index === index) {
      assert(this.#tail.end === position, 'what is appended follows what was appended last');
      return this.#tail;
    }
    assert(position === index * this.#pageBytes, 'a new tail page begins at its start');
    this.#releaseTail();
    const stale = this.#pages.get(index);
    if (stale !== undefined) this.#remove(stale);
    const page = this.#cache.take();
    page.end = position;
    this.#insert(page, index);
    page.pinned = true;
    this.#tail = page;
    return page;
  }

  #releaseTail(): void {
    if (this.#tail !== null) this.#filled.push(this.#tail);
    this.#tail = null;
  }
}

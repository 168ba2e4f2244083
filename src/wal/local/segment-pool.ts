// Segments ahead of need: made or recycled off the commit path, and the account of the room they give.
// Invariants: a segment is ready only when its bytes are allocated and its name is durable; numbers follow each other without gaps; old
// segments leave from the front, one durable step after the other, so what is left is always contiguous; a pinned one waits; one with a
// second name is never recycled, so that a backup which linked it reads what it linked. A full disk only lowers the room; any other failure
// ends the log. It must not know frames or batches.

import { assert } from '../../base/assert.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Ulog } from '../../base/ulog.ts';
import { errorCode, errorText, isOutOfDescriptors } from './file-io.ts';
import type { PreparedSegment } from './recovery.ts';
import { firstMarkerName } from './segment.ts';
import type { SegmentFiles } from './segment.ts';
import { SegmentMaker } from './segment-maker.ts';
import type { Allocate } from './segment-maker.ts';

/** Ready segments in the quiet state: one to go on in, one kept back for restating. */
const READY_QUIET = 2;
/** How far a high rate may drive that up. */
const READY_MAX = 8;
/** A larger request is refused without preparing anything for it. */
const REQUEST_BYTES_MAX = 1024 * 1024 * 1024;
const RETRY_MS = 5000;
/** A log that uses up a segment in less than so many times what writing zeros to one takes has no disk to spare for them. */
const ZEROS_SHARE = 8;
/** From this part of a segment and this time on its own rate says how long it lasts. */
const TELLING_PART = 0.25;
const TELLING_MS = 50;
const NO_ROOM_CODES = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EMFILE', 'ENFILE']);

export interface PoolOptions {
  readonly files: SegmentFiles;
  readonly segmentBytes: number;
  readonly limitBytes: number;
  readonly clock: Clock;
  readonly ulog: Ulog;
  readonly allocate: Allocate | null;
  /** How many segments the log's content occupies, the current one included. */
  readonly heldSegments: () => number;
  /** Something that may not be retried went wrong. */
  readonly onFailure: (error: unknown) => void;
}

export interface ReadySegment {
  readonly number: number;
  readonly recycled: boolean;
}

class Step {
  resolve: () => void = () => {};
  readonly promise = new Promise<void>((resolve) => {
    this.resolve = resolve;
  });
}

export class SegmentPool {
  readonly #options: PoolOptions;
  readonly #maker: SegmentMaker;
  #current = 0;
  /** Numbers `#current + 1`, `#current + 2`, … */
  readonly #ready: ReadySegment[] = [];
  /** Segments that are no longer needed, oldest first. */
  #retired: number[] = [];
  #retiredHead = 0;
  /** Segment that the log begins with, and the one that the marker on disk names. */
  #first = 1;
  #marked = 0;
  /** The one that the marker's name says, which need not be durable yet. */
  #named = 0;
  #usedOfCurrent = 0;
  #reserved = 0;
  /** What a further segment costs beyond its records: preamble, and the end that a batch may leave. */
  #segmentCost = 0;
  #wanted = READY_QUIET;
  #segmentsMax = Infinity;
  /** Someone was refused for want of room: how much he wanted, until it was granted. */
  #isAsked = false;
  #asked = 0;
  #enteredAt: number;
  /** How long the one before lasted, in milliseconds. */
  #lastedMs = Infinity;
  /** What a batch waits for. */
  #needed = 0;
  /** No segment was entered lately: spare ones may go. Never while a batch is about to enter them. */
  #isQuiet = false;
  #blocked = false;
  /** That there is no room for a segment was said, and it has not been prepared since. */
  #isShort = false;
  #running: Promise<void> | null = null;
  #progress: Step | null = null;
  #timer: Timer | null = null;
  #closed = false;
  #failed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#enteredAt = options.clock.monoMs();
    this.#maker = new SegmentMaker({
      ...options,
      isPressed: () => this.#isPressed(),
      isClosed: () => this.#closed,
    });
    options.files.onUnpinned = () => {
      if (this.#retiredHead < this.#retired.length) this.#run();
    };
  }

  /** Takes over what an inspection found. `current` is 0 for a new log. */
  start(found: {
    current: number;
    first: number;
    marked: number;
    prepared: readonly PreparedSegment[];
  }): void {
    const { current, prepared } = found;
    this.#current = current;
    this.#first = found.first;
    this.#marked = found.marked;
    this.#named = found.marked;
    if (current > 0) this.#options.files.pin(current);
    for (const { number, stale } of prepared) this.#addReady({ number, recycled: stale });
    this.#run();
  }

  get current(): number {
    return this.#current;
  }

  get readyCount(): number {
    return this.#ready.length;
  }

  /** Segments on disk that are not part of the log's content: ready ones and retired ones that are still there. */
  get spareCount(): number {
    return this.#ready.length + this.#retired.length - this.#retiredHead;
  }

  /** The segment `ahead` behind the current one, when it is ready. */
  peek(ahead: number): ReadySegment | undefined {
    return this.#ready[ahead - 1];
  }

  /** The next so many segments, which are ready, are about to be entered: they stay until then. */
  keep(ahead: number): void {
    this.#needed = ahead;
  }

  /** Assumes: the next segment is ready. */
  enter(): void {
    const next = this.#ready.shift();
    const previous = this.#current;
    assert(next !== undefined && next.number === previous + 1, 'the next segment is ready', previous + 1);
    this.#current = next.number;
    this.#usedOfCurrent = 0;
    this.#needed = Math.max(0, this.#needed - 1);
    this.#options.files.pin(next.number);
    if (previous > 0) this.#options.files.unpin(previous);
    this.#adaptToRate();
    this.#run();
  }

  setUsed(bytes: number): void {
    this.#usedOfCurrent = bytes;
  }

  setSegmentCost(bytes: number): void {
    this.#segmentCost = bytes;
  }

  /** What `reserve` could still grant; negative when more is promised than there is. */
  get room(): number {
    const { segmentBytes } = this.#options;
    const ready = this.#ready.length;
    // The last ready segment is kept back; without one, the rest of the current segment is what is kept.
    if (ready === 0) return -this.#reserved;
    const further = (ready - 1) * Math.max(0, segmentBytes - this.#segmentCost);
    return segmentBytes - this.#usedOfCurrent + further - this.#reserved;
  }

  /** Room that was not promised, the segment that is kept back for restating included. */
  mayRestate(bytes: number): boolean {
    const keptBack = this.#ready.length === 0 ? 0 : this.#options.segmentBytes - this.#segmentCost;
    return bytes <= this.room + keptBack;
  }

  /** How many segments there should be at most, ready ones included. */
  limitSegments(count: number): void {
    this.#segmentsMax = count;
    if (this.#mayShrink()) this.#run();
  }

  reserve(bytes: number): boolean {
    if (bytes <= this.room) {
      this.#reserved += bytes;
      if (bytes >= this.#asked) this.#asked = 0;
      return true;
    }
    if (bytes <= REQUEST_BYTES_MAX) this.#wantRoom(bytes);
    return false;
  }

  /** Counts what is promised already, whether or not there is room. */
  reserveAnyway(bytes: number): void {
    this.#reserved += bytes;
    if (this.room < 0) this.#wantRoom(0);
  }

  release(bytes: number): void {
    this.#reserved -= bytes;
    assert(this.#reserved >= 0, 'no more is released than was reserved');
  }

  /** Resolves at the pool's next step, null when it takes none. */
  roomComing(): Promise<void> | null {
    return this.#running === null || this.#closed || this.#failed ? null : this.#nextStep();
  }

  /**
   * Resolves when `ahead` segments behind the current one are ready, however long that takes: they stay until they are entered. False: the
   * pool was closed or failed.
   */
  async whenReady(ahead: number): Promise<boolean> {
    this.#needed = ahead;
    while (this.#ready.length < ahead && !this.#closed && !this.#failed) {
      this.#wanted = Math.max(this.#wanted, ahead);
      this.#run();
      await this.#nextStep();
    }
    if (this.#ready.length >= ahead && !this.#closed && !this.#failed) return true;
    this.#needed = 0;
    return false;
  }

  /** The same for a start, which cannot wait for ever: one more attempt, then the error. */
  async makeReady(): Promise<void> {
    while (this.#running !== null && !this.#isBegun()) await this.#nextStep();
    if (this.#isBegun()) return;
    const attempt = this.#begin();
    const settle = (): void => {
      this.#running = null;
      this.#step();
    };
    this.#running = attempt.then(settle, settle);
    await attempt;
  }

  /** Segments that are no longer needed, ascending. Resolves when those that nobody reads are gone or recycled. */
  async retire(numbers: readonly number[], first: number): Promise<void> {
    this.#retired.push(...numbers);
    this.#first = first;
    this.#blocked = false;
    this.#run();
    while (this.#running !== null && (this.#mayMark() || this.#mayRetire())) await this.#nextStep();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    this.#timer = null;
    this.#step();
    while (this.#running !== null) await this.#running;
    this.#step();
    if (this.#current > 0) this.#options.files.unpin(this.#current);
  }

  #isBegun(): boolean {
    return this.#ready.length > 0 && this.#marked === this.#first;
  }

  async #begin(): Promise<void> {
    if (this.#marked !== this.#first) await this.#moveMarker();
    if (this.#ready.length === 0) this.#addReady(await this.#prepare());
  }

  #addReady(segment: ReadySegment): void {
    assert(segment.number === this.#current + this.#ready.length + 1, 'numbers follow each other');
    this.#ready.push(segment);
  }

  /** Someone was refused: prepare as much as would have served him. */
  #wantRoom(bytes: number): void {
    const { segmentBytes } = this.#options;
    const missing = bytes - this.room;
    this.#isAsked = true;
    this.#asked = Math.max(this.#asked, bytes);
    const per = Math.max(segmentBytes / 4, segmentBytes - this.#segmentCost);
    const more = this.#ready.length === 0 ? 1 : 0;
    this.#wanted = Math.max(this.#wanted, this.#ready.length + more + Math.ceil(missing / per));
    this.#run();
  }

  #adaptToRate(): void {
    this.#isQuiet = false;
    const now = this.#options.clock.monoMs();
    const interval = Math.max(1, now - this.#enteredAt);
    this.#enteredAt = now;
    // A new log enters its first segment when that has been made.
    this.#lastedMs = this.#current === 1 ? Infinity : interval;
    const ahead =
      interval > RETRY_MS ? READY_QUIET : READY_QUIET + Math.ceil((3 * this.#maker.ms) / interval);
    this.#wanted = Math.max(READY_QUIET, Math.min(READY_MAX, ahead));
    this.#armTimer();
  }

  #isPressed(): boolean {
    if (this.#needed > this.#ready.length) return true;
    const part = this.#usedOfCurrent / this.#options.segmentBytes;
    const ms = this.#options.clock.monoMs() - this.#enteredAt;
    const lastsMs = part < TELLING_PART || ms < TELLING_MS ? this.#lastedMs : ms / part;
    return lastsMs < ZEROS_SHARE * this.#maker.zerosMs;
  }

  /** Back to the quiet state when no segment was entered for a while, and another try on a full disk. */
  #armTimer(): void {
    if (this.#timer !== null || this.#closed) return;
    const { clock } = this.#options;
    this.#timer = clock.setTimer(clock.monoMs() + RETRY_MS, () => {
      this.#timer = null;
      this.#blocked = false;
      if (this.#needed === 0 && clock.monoMs() - this.#enteredAt >= RETRY_MS) {
        this.#isQuiet = true;
        this.#asked = 0;
        this.#wanted = this.#quietTarget();
      }
      this.#run();
      if (this.#blocked || this.#wanted > READY_QUIET) this.#armTimer();
    });
  }

  /** Enough for what is promised, and never less than the quiet state. */
  #quietTarget(): number {
    const { segmentBytes } = this.#options;
    const beyond = this.#reserved - (segmentBytes - this.#usedOfCurrent);
    const per = Math.max(segmentBytes / 4, segmentBytes - this.#segmentCost);
    return Math.max(READY_QUIET, 1 + Math.ceil(Math.max(0, beyond) / per));
  }

  #mayRetire(): boolean {
    const oldest = this.#retired[this.#retiredHead];
    return oldest !== undefined && oldest < this.#marked && !this.#options.files.isPinned(oldest);
  }

  #mayPrepare(): boolean {
    if (this.#blocked || this.#ready.length >= this.#wanted || !this.#underLimit()) return false;
    // Beyond what the log should keep to only what is needed to go on, or was asked for.
    return this.#total < this.#segmentsMax || this.#ready.length === 0 || this.#isAsked || this.#needed > 0;
  }

  #underLimit(): boolean {
    const { limitBytes, segmentBytes } = this.#options;
    return (this.#options.heldSegments() + this.spareCount + 1) * segmentBytes <= limitBytes;
  }

  /** Segments on disk. */
  get #total(): number {
    return this.#options.heldSegments() + this.spareCount;
  }

  #mayShrink(): boolean {
    if (this.#needed > 0) return false;
    if (this.#isQuiet && this.#ready.length > this.#wanted + 1) return true;
    const spare = this.#ready.length > 1 && this.#total > this.#segmentsMax;
    return spare && this.room >= this.#options.segmentBytes + this.#asked;
  }

  #run(): void {
    if (this.#running !== null || this.#closed || this.#failed || !this.#hasWork()) return;
    this.#running = this.#work().finally(() => {
      this.#running = null;
      this.#step();
    });
  }

  #mayMark(): boolean {
    return this.#marked !== this.#first && !this.#blocked;
  }

  #hasWork(): boolean {
    return this.#mayMark() || this.#mayRetire() || this.#mayPrepare() || this.#mayShrink();
  }

  async #work(): Promise<void> {
    try {
      while (!this.#closed && this.#hasWork()) {
        if (this.#mayMark()) await this.#moveMarker();
        else if (this.#mayRetire()) await this.#retireOldest();
        else if (this.#mayPrepare()) {
          this.#addReady(await this.#prepare());
          this.#isAsked = this.room < 0;
          this.#noteRoom();
        } else await this.#dropLastReady();
        this.#step();
      }
    } catch (error) {
      if (this.#closed) return;
      if (NO_ROOM_CODES.has(errorCode(error))) this.#block(error);
      else {
        this.#failed = true;
        this.#options.onFailure(error);
      }
    }
  }

  #block(error: unknown): void {
    const { ulog, files } = this.#options;
    // Once, not at every try.
    if (!this.#isShort) {
      const what = isOutOfDescriptors(error)
        ? 'out of file descriptors: raise their limit (ulimit -n), or end something that uses many'
        : 'the disk is full: free some space on it';
      ulog.warn(
        `${what}; no segment could be prepared, enqueues are refused when the room that is left is used`,
        {
          dir: files.dir,
          roomBytes: Math.max(0, this.room),
          error: errorText(error),
        },
      );
    }
    this.#isShort = true;
    this.#blocked = true;
    this.#armTimer();
  }

  #noteRoom(): void {
    if (!this.#isShort) return;
    this.#isShort = false;
    this.#options.ulog.info('segments can be prepared again', { dir: this.#options.files.dir });
  }

  #nextStep(): Promise<void> {
    this.#progress ??= new Step();
    return this.#progress.promise;
  }

  #step(): void {
    const progress = this.#progress;
    this.#progress = null;
    progress?.resolve();
  }

  /** Ensures: the log's first segment is known on disk before the ones before it go. Needs no room when the marker exists. */
  async #moveMarker(): Promise<void> {
    const { io, dir } = this.#options.files;
    const first = this.#first;
    const path = `${dir}/${firstMarkerName(first)}`;
    if (this.#named === 0) io.close(io.open(path, 'ensure', 'reserve'));
    else if (this.#named !== first) await io.rename(`${dir}/${firstMarkerName(this.#named)}`, path);
    this.#named = first;
    await io.fsyncDir(dir);
    this.#marked = first;
  }

  async #retireOldest(): Promise<void> {
    const { files } = this.#options;
    const number = this.#retired[this.#retiredHead];
    assert(number !== undefined, 'there is a retired segment');
    const next = this.#current + this.#ready.length + 1;
    // One with a second name is read under it, by a backup: it goes as it is.
    const isShared = (await files.io.linkCount(files.path(number))) > 1;
    if (files.isPinned(number)) return;
    const recycle = this.#ready.length < this.#wanted && !isShared;
    files.forget(number);
    if (recycle) await files.io.rename(files.path(number), files.path(next));
    else await files.io.unlink(files.path(number));
    this.#retiredHead++;
    if (this.#retiredHead === this.#retired.length) {
      this.#retired = [];
      this.#retiredHead = 0;
    }
    await files.io.fsyncDir(files.dir);
    if (recycle) this.#addReady({ number: next, recycled: true });
  }

  async #prepare(): Promise<ReadySegment> {
    const number = this.#current + this.#ready.length + 1;
    await this.#maker.make(number);
    return { number, recycled: false };
  }

  async #dropLastReady(): Promise<void> {
    const { files } = this.#options;
    const last = this.#ready.pop();
    assert(last !== undefined, 'there is a ready segment');
    files.forget(last.number);
    await files.io.unlink(files.path(last.number));
    await files.io.fsyncDir(files.dir);
  }
}

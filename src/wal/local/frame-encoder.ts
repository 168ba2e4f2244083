// From a batch to the bytes of its frames. Small and middling frames are put together in the page cache, where they are wanted next, and
// written from there; a giant one is written from where its chunks are.
// Invariants: what is returned is exactly the frame, CRC included, padded with zeros. It must not know segments or files.

import { crc32 } from 'node:zlib';
import { assert } from '../../base/assert.ts';
import type { RecordGroup } from '../log-store.ts';
import { FRAME_ALIGN, HEADER_BYTES, encodeHeader } from './frame.ts';
import type { FrameHeader } from './frame.ts';
import type { FramePlan } from './layout.ts';
import type { LogPages } from './page-cache.ts';

const PADDING = Buffer.alloc(FRAME_ALIGN);

/** Header and record starts of one frame, and the views to write them through. */
class Head {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly words: Uint32Array;

  constructor(bytes: number) {
    this.bytes = Buffer.allocUnsafeSlow(Math.ceil(bytes / 4) * 4);
    this.view = new DataView(this.bytes.buffer);
    this.words = new Uint32Array(this.bytes.buffer);
  }
}

export class FrameEncoder {
  readonly #pages: LogPages;
  #head = new Head(4096);

  constructor(pages: LogPages) {
    this.#pages = pages;
  }

  /** The chunks to write at `header.pos`; views of the pages, or of the group for a giant frame. */
  encode(header: FrameHeader, group: RecordGroup, how: { plan: FramePlan; giant: boolean }): Uint8Array[] {
    const { plan, giant } = how;
    const bytes = HEADER_BYTES + 4 * header.recordCount;
    if (giant || this.#head.bytes.length < bytes) this.#head = new Head(2 * bytes);
    const head = this.#head;
    encodeHeader(head.view, 0, header);
    const { firstRecord } = plan;
    head.words.set(group.starts.subarray(firstRecord, firstRecord + header.recordCount), HEADER_BYTES / 4);
    const chunks = [head.bytes.subarray(0, bytes)];
    pushBetween(chunks, group.bytes, plan);
    const padding = plan.bytes - bytes - header.payloadBytes;
    if (padding > 0) chunks.push(PADDING.subarray(0, padding));
    return giant ? this.#giant(plan, chunks) : this.#inPages(plan, chunks);
  }

  #inPages(plan: FramePlan, chunks: Uint8Array[]): Uint8Array[] {
    this.#append(plan, chunks);
    const slices = this.#pages.slices(plan.pos, plan.pos + plan.bytes);
    seal(slices);
    return slices;
  }

  /** Only the page that is appended to next is kept up to date. */
  #giant(plan: FramePlan, chunks: Uint8Array[]): Uint8Array[] {
    seal(chunks);
    const end = plan.pos + plan.bytes;
    const inTail = end - this.#pages.tailStart(end);
    if (inTail > plan.bytes) this.#append(plan, chunks);
    else this.#pages.startTail(end, lastBytes(chunks, inTail));
    return chunks;
  }

  #append(plan: FramePlan, chunks: readonly Uint8Array[]): void {
    let at = plan.pos;
    for (const chunk of chunks) {
      this.#pages.append(at, chunk);
      at += chunk.length;
    }
    assert(at === plan.pos + plan.bytes, 'a frame is as long as planned');
  }
}

/** Puts the CRC of everything behind it into the first word. */
function seal(chunks: readonly Uint8Array[]): void {
  const first = chunks[0];
  assert(first !== undefined && first.length >= FRAME_ALIGN, 'a header begins in one piece');
  let crc = crc32(first.subarray(4));
  for (let i = 1; i < chunks.length; i++) crc = crc32(chunks[i] ?? PADDING, crc);
  new DataView(first.buffer, first.byteOffset).setUint32(0, crc, true);
}

function pushBetween(target: Uint8Array[], chunks: readonly Uint8Array[], plan: FramePlan): void {
  let at = 0;
  for (const chunk of chunks) {
    const start = Math.max(plan.from, at);
    const end = Math.min(plan.to, at + chunk.length);
    if (start < end) target.push(end - start === chunk.length ? chunk : chunk.subarray(start - at, end - at));
    at += chunk.length;
  }
}

function lastBytes(chunks: readonly Uint8Array[], count: number): Uint8Array {
  const result = Buffer.allocUnsafe(count);
  let missing = count;
  for (let i = chunks.length - 1; missing > 0; i--) {
    const chunk = chunks[i];
    assert(chunk !== undefined, 'the frame is longer than its share of the page');
    const take = Math.min(missing, chunk.length);
    result.set(chunk.subarray(chunk.length - take), missing - take);
    missing -= take;
  }
  return result;
}

// The log's whole batches in order, each checked before it is handed out.
// Invariants: a batch of several frames comes out as one chunk when its last frame was read; preambles come out where they stand, so before
// the batch that they interrupt; if the chain breaks before the end that the inspection found, that is damage. Only reads.

import { LogError } from '../log-store.ts';
import type { Batch, Pos, RecordGroup } from '../log-store.ts';
import { FLAG_CONTINUED, HEADER_BYTES, hasFlag, payloadStart } from './frame.ts';
import type { FrameHeader } from './frame.ts';
import type { Inspection } from './recovery.ts';
import { ChainReader, SegmentWindow } from './scan.ts';
import type { SegmentFiles } from './segment.ts';

export class Replay {
  readonly #files: SegmentFiles;
  readonly #found: Inspection;
  readonly #after: Pos;
  readonly #chain: ChainReader | null;
  readonly #pieces = new PieceCollector();

  /** Batches behind `after`, up to the end that the inspection found. */
  constructor(files: SegmentFiles, found: Inspection, after: Pos) {
    this.#files = files;
    this.#found = found;
    this.#after = after;
    const { identity, table } = found;
    const start = Math.min(table.last, Math.max(table.first, table.numberOf(after)));
    const window = new SegmentWindow(files, table.segmentBytes);
    this.#chain = identity === null ? null : new ChainReader(window, identity, start);
  }

  /** The next batch when it is in memory already: most are. */
  nextInMemory(): Batch | null {
    const chain = this.#chain;
    if (chain === null) return null;
    while (!this.#isAtEnd(chain) && chain.nextInWindow()) {
      const batch = this.#batchAt(chain);
      if (batch !== null) return batch;
    }
    return null;
  }

  /** The next batch; null at the log's end. Views are good until the next one is asked for. */
  async next(): Promise<Batch | null> {
    const chain = this.#chain;
    if (chain === null) return null;
    while (!this.#isAtEnd(chain)) {
      if (!chain.nextInWindow() && !(await chain.next())) throw this.#broken(chain.end);
      const batch = this.#batchAt(chain);
      if (batch !== null) return batch;
    }
    const { whole } = this.#found;
    if (chain.whole.end !== whole.end || chain.whole.lastPos !== whole.lastPos) throw this.#broken(whole.end);
    return null;
  }

  #isAtEnd(chain: ChainReader): boolean {
    return chain.whole.lastPos >= 0 && chain.whole.end >= this.#found.whole.end;
  }

  #batchAt(chain: ChainReader): Batch | null {
    const isPreamble = chain.header.kind === 'preamble';
    if (chain.skipped && !isPreamble) return null;
    const batch = isPreamble ? this.#pieces.preamble(chain) : this.#pieces.add(chain);
    return batch !== null && batch.pos > this.#after ? batch : null;
  }

  #broken(position: Pos): LogError {
    const { segmentBytes } = this.#found.table;
    const number = Math.floor(position / segmentBytes);
    const place = `${this.#files.path(number)}: damage at offset ${position % segmentBytes}`;
    return new LogError(
      'Corrupt',
      `${place}: the chain of batches breaks here, but the log goes on behind it`,
    );
  }
}

/** The batch whose only frame is the chain's current one. */
function batchOf(chain: ChainReader): Batch {
  const { recordCount: count } = chain.header;
  return makeBatch(chain.header, chain.header.pos, {
    bytes: [payloadOf(chain)],
    starts: startsOf(chain),
    count,
  });
}

function makeBatch(header: FrameHeader, pos: Pos, records: RecordGroup): Batch {
  const time = { space: header.spaceTime, wall: header.wallTime };
  return { ref: header.ref, pos, epoch: header.epoch, time, records, kind: header.kind };
}

function payloadOf(chain: ChainReader): Uint8Array {
  const { header, window, offset } = chain;
  return window.bytes(payloadStart(offset, header.recordCount), header.payloadBytes);
}

function startsOf(chain: ChainReader): Uint32Array {
  return chain.window.words(chain.offset + HEADER_BYTES, chain.header.recordCount);
}

/** Puts the frames of a batch together. */
class PieceCollector {
  #pos = 0;
  #count = 0;
  #bytes: Uint8Array[] = [];
  #starts: Uint32Array[] = [];

  /** The batch, once its last frame is there. */
  add(chain: ChainReader): Batch | null {
    const { header } = chain;
    const continued = hasFlag(header, FLAG_CONTINUED);
    if (!continued && this.#bytes.length === 0) return batchOf(chain);
    if (this.#bytes.length === 0) this.#pos = header.pos;
    this.#bytes.push(Buffer.from(payloadOf(chain)));
    this.#starts.push(Uint32Array.from(startsOf(chain)));
    this.#count += header.recordCount;
    return continued ? null : this.#finish(header);
  }

  /** A preamble in the middle of a batch has the batch's position, so that positions never go back. */
  preamble(chain: ChainReader): Batch {
    const batch = batchOf(chain);
    return this.#bytes.length === 0 ? batch : { ...batch, pos: this.#pos };
  }

  #finish(last: FrameHeader): Batch {
    const starts = new Uint32Array(this.#count);
    let at = 0;
    for (const part of this.#starts) {
      starts.set(part, at);
      at += part.length;
    }
    const records = { bytes: [Buffer.concat(this.#bytes)], starts, count: this.#count };
    this.#bytes = [];
    this.#starts = [];
    this.#count = 0;
    return makeBatch(last, this.#pos, records);
  }
}

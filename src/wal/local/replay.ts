// The log's whole batches in order, each checked before it is handed out.
// Invariants: a batch of several frames comes out as one chunk when its last frame was read; preambles come out where they stand, so before
// the batch that they interrupt; if the chain breaks before the end that the inspection found, that is damage. Only reads.

import { LogError } from '../log-store.ts';
import type { Batch, Pos } from '../log-store.ts';
import { FLAG_CONTINUED, HEADER_BYTES, hasFlag, payloadStart } from './frame.ts';
import type { FrameHeader } from './frame.ts';
import type { Inspection } from './recovery.ts';
import { ChainReader, SegmentWindow } from './scan.ts';
import { segmentFileName } from './segment.ts';
import type { SegmentFiles } from './segment.ts';

/** Batches behind `after`, up to the end that the inspection found. Views are good until the next one is asked for. */
export async function* replayBatches(
  files: SegmentFiles,
  found: Inspection,
  after: Pos,
): AsyncGenerator<Batch, void> {
  const { identity, table, whole } = found;
  if (identity === null) return;
  const start = Math.min(table.last, Math.max(table.first, table.numberOf(after)));
  const chain = new ChainReader(new SegmentWindow(files, table.segmentBytes), identity, start);
  const pieces = new PieceCollector();
  while (chain.whole.lastPos < 0 || chain.whole.end < whole.end) {
    if (!chain.nextInWindow() && !(await chain.next())) throw broken(files, chain.end, table.segmentBytes);
    if (chain.skipped && chain.header.kind !== 'preamble') continue;
    const batch = chain.header.kind === 'preamble' ? pieces.preamble(chain) : pieces.add(chain);
    if (batch !== null && batch.pos > after) yield batch;
  }
  if (chain.whole.end !== whole.end || chain.whole.lastPos !== whole.lastPos)
    throw broken(files, whole.end, table.segmentBytes);
}

function broken(files: SegmentFiles, position: Pos, segmentBytes: number): LogError {
  const number = Math.floor(position / segmentBytes);
  const place = `${files.dir}/${segmentFileName(number)}: damage at offset ${position % segmentBytes}`;
  return new LogError('Corrupt', `${place}: the chain of batches breaks here, but the log goes on behind it`);
}

/** The batch whose only frame is the chain's current one. */
function batchOf(chain: ChainReader): Batch {
  const { header } = chain;
  const bytes = payloadOf(chain);
  return {
    ...describe(header),
    records: { bytes: [bytes], starts: startsOf(chain), count: header.recordCount },
  };
}

function describe(header: FrameHeader): Omit<Batch, 'records'> {
  const time = { space: header.spaceTime, wall: header.wallTime };
  return { ref: header.ref, pos: header.pos, epoch: header.epoch, time, kind: header.kind };
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
    return { ...describe(last), pos: this.#pos, records };
  }
}

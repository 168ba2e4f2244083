// Every split of the byte stream gives the same frames, and what is held never exceeds the cap.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OP } from '../../proto/codes.ts';
import { FrameReader } from '../../proto/frame.ts';
import { encodeRequest } from '../../proto/request.ts';
import { FrameWriter } from '../../proto/writer.ts';

const RUNS = { interruptAfterTimeLimit: 5000, numRuns: 5000, markInterruptAsFailure: false } as const;

function streamOf(sizes: readonly number[]): Buffer {
  const writer = new FrameWriter();
  sizes.forEach((size, i) => {
    const data = size === 0 ? null : Buffer.alloc(size, i + 1);
    encodeRequest(writer, {
      op: OP.ENQUEUE,
      id: i + 1,
      queue: 1,
      ctl: null,
      body: { type: data === null ? '' : 'CARRAY', subtype: '', data },
      flags: 0,
      tx: 0,
    });
  });
  return Buffer.concat(writer.take());
}

/** All frames' bytes, by pushing the stream cut at `cuts`; drained after each push or only at the end. */
function frames(stream: Buffer, cuts: readonly number[], drain: 'each' | 'end'): string[] {
  const reader = new FrameReader(1 << 20);
  const out: string[] = [];
  const take = (): void => {
    for (let frame = reader.next(); frame !== null; frame = reader.next()) {
      out.push(frame.bytes.toString('latin1', frame.start, frame.end));
    }
  };
  let from = 0;
  for (const cut of [...cuts, stream.length]) {
    reader.push(stream.subarray(from, cut));
    from = cut;
    if (drain === 'each') take();
  }
  take();
  return out;
}

describe('frames', () => {
  it('every split in two of a short stream', () => {
    const stream = streamOf([0, 1, 5, 31, 40]);
    const whole = frames(stream, [], 'each');
    expect(whole.length).toBe(5);
    for (let cut = 0; cut <= stream.length; cut++) {
      expect(frames(stream, [cut], 'each')).toEqual(whole);
      for (let second = cut; second <= stream.length; second += 3) {
        expect(frames(stream, [cut, second], 'end')).toEqual(whole);
      }
    }
  });

  it('any split of any stream', () => {
    const sizes = fc.array(fc.oneof(fc.nat({ max: 40 }), fc.constantFrom(255, 256, 65_535, 65_536, 70_000)), {
      minLength: 1,
      maxLength: 6,
    });
    const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });
    fc.assert(
      fc.property(sizes, places, fc.constantFrom('each' as const, 'end' as const), (chosen, marks, drain) => {
        const stream = streamOf(chosen);
        const cuts = marks.map((mark) => Math.floor(mark * stream.length)).sort((a, b) => a - b);
        expect(frames(stream, cuts, drain)).toEqual(frames(stream, [], 'each'));
      }),
      RUNS,
    );
  });

  it('random bytes: frames lie inside the cap, and nothing above it is held', () => {
    const cap = 5000;
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 30 }), (chunks) => {
        const reader = new FrameReader(cap);
        for (const chunk of chunks) {
          reader.push(chunk);
          for (let frame = reader.next(); frame !== null; frame = reader.next()) {
            expect(frame.end - frame.start).toBeLessThanOrEqual(cap);
          }
          expect(reader.pendingBytes).toBeLessThanOrEqual(cap);
        }
      }),
      RUNS,
    );
  });
});

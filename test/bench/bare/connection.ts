// A connection of the bare pipeline: the bytes of frames that are not whole yet.
import type { Socket } from 'node:net';

const NOTHING = Buffer.alloc(0);

/** Takes one whole frame: `bytes` from `at`, its length included, to `end`. */
export type OnFrame = (bytes: Buffer, at: number, end: number) => void;

/** Calls `onFrame` for every frame that arrives. */
export function readFrames(socket: Socket, onFrame: OnFrame): void {
  let rest: Buffer = NOTHING;
  socket.on('data', (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (at + 4 <= bytes.length) {
      const end = at + 4 + bytes.readUInt32BE(at);
      if (end > bytes.length) break;
      onFrame(bytes, at, end);
      at = end;
    }
    rest = at === bytes.length ? NOTHING : bytes.subarray(at);
  });
  socket.on('error', () => socket.destroy());
}

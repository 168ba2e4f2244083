// The frames of a log on a memory disk, found by walking each segment from its start: for tests that damage one.

import { FrameHeader, HEADER_BYTES, decodeHeader, frameBytes, frameCrc } from '../../src/wal/local/frame.ts';
import { segmentFileName } from '../../src/wal/local/segment.ts';
import type { MemoryDisk } from './faulty-file-io.ts';
import { DIR, SEGMENT } from './ledger.ts';

export interface FoundFrame {
  readonly path: string;
  readonly offset: number;
  readonly bytes: number;
  readonly header: FrameHeader;
}

export function segmentPath(number: number): string {
  return `${DIR}/${segmentFileName(number)}`;
}

export function framesOf(disk: MemoryDisk): FoundFrame[] {
  const found: FoundFrame[] = [];
  for (const path of disk.files().filter((name) => name.endsWith('.log'))) {
    const bytes = disk.read(path);
    const view = new DataView(bytes.buffer);
    const number = Number.parseInt(path.slice(-16, -4), 16);
    for (let offset = 0; offset + HEADER_BYTES <= bytes.length;) {
      const header = new FrameHeader();
      if (!decodeHeader(view, offset, header) || header.pos !== number * SEGMENT + offset) break;
      const length = frameBytes(header.recordCount, header.payloadBytes);
      found.push({ path, offset, bytes: length, header });
      offset += length;
    }
  }
  return found;
}

/** Changes a file's bytes, durably. */
export function patch(
  disk: MemoryDisk,
  path: string,
  change: (bytes: Uint8Array) => Uint8Array | void,
): void {
  const bytes = disk.read(path);
  disk.replace(path, change(bytes) ?? bytes);
}

export function zeroFrame(disk: MemoryDisk, frame: FoundFrame): void {
  patch(disk, frame.path, (bytes) => {
    bytes.fill(0, frame.offset, frame.offset + frame.bytes);
  });
}

/** Puts the right CRC on a frame that was tampered with. */
export function reseal(frame: Uint8Array): Uint8Array {
  new DataView(frame.buffer, frame.byteOffset).setUint32(0, frameCrc(frame), true);
  return frame;
}

// qmadmin in the test's own process: a session on a device in a folder of its own, fed from a text as from a pipe. Owns nothing but what it
// collects.
import { SystemClock } from '../../src/boot/system-clock.ts';
import { connectTo } from '../../src/cli/qmadmin-link.ts';
import { PipedLines, type LineSource } from '../../src/qmadmin/lines.ts';
import { LocalDevice } from '../../src/qmadmin/local/local-device.ts';
import type { DevicePort } from '../../src/qmadmin/port.ts';
import { ReachableDevice } from '../../src/qmadmin/reachable-device.ts';
import { Session } from '../../src/qmadmin/session.ts';
import { type FileIo, nodeFileIo } from '../../src/wal/local/file-io.ts';

/** The smallest, so that a space is made in no time. */
const SEGMENT_BYTES = 64 * 1024;

export interface Ran {
  readonly out: string[];
  readonly err: string[];
  readonly failures: number;
  /** What was run by `!`. */
  readonly system: string[];
}

export function localDevice(path: string, io: FileIo = nodeFileIo): LocalDevice {
  const quiet = { info: () => {}, warn: () => {}, error: () => {} };
  return new LocalDevice(path, {
    clock: new SystemClock(),
    ulog: quiet,
    io,
    runCommand: () => {},
    segmentBytes: SEGMENT_BYTES,
  });
}

/** As the command has it: through the daemon that holds the device, if one does. */
export function reachableDevice(path: string): ReachableDevice {
  return new ReachableDevice({ local: localDevice(path), connect: connectTo, io: nodeFileIo });
}

export async function runLines(
  lines: LineSource,
  device: DevicePort,
  options: { json?: boolean } = {},
): Promise<Ran> {
  const ran = { out: [] as string[], err: [] as string[], system: [] as string[] };
  const session = new Session({
    ...options,
    lines,
    device,
    out: (line) => ran.out.push(line),
    err: (line) => ran.err.push(line),
    system: (commandLine) => {
      ran.system.push(commandLine);
      return Promise.resolve(commandLine === 'false' ? 1 : 0);
    },
  });
  await session.run();
  return { ...ran, failures: session.failures };
}

/** Lines as an array, or a text as it stands. */
export function runScript(
  script: readonly string[] | string | Uint8Array,
  device: DevicePort,
  options: { json?: boolean } = {},
): Promise<Ran> {
  const text = Array.isArray(script) ? script.map((line) => `${line}\n`).join('') : script;
  return runLines(pipe(typeof text === 'string' ? Buffer.from(text) : (text as Uint8Array)), device, options);
}

/** The bytes in pieces of this size; 0: in one. */
export function pipe(bytes: Uint8Array, pieceBytes = 0): PipedLines {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    const size = pieceBytes === 0 ? Math.max(1, bytes.length) : pieceBytes;
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  return new PipedLines(pieces());
}

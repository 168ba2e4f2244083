// A disk that fails while a declared queue space is made: the start says what failed and where, not a diagnostic of the queue.
import { expect, test } from 'vitest';
import { Devices } from '../../src/boot/devices.ts';
import { parseDomain } from '../../src/ubb/domain.ts';
import { planHost } from '../../src/ubb/plan.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { ubbText } from '../support/ubb-text.ts';
import { FaultyFileIo, MemoryDisk } from './faulty-file-io.ts';

const SILENT = { info: (): void => {}, warn: (): void => {}, error: (): void => {} };

/** Opens the space while this call of the disk fails: null when that went well, and how many calls it took. */
async function openWith(failing: number): Promise<{ error: Error | null; calls: number }> {
  const io = new FaultyFileIo(new MemoryDisk());
  io.faults = ({ n }) => (n === failing ? 'EIO' : null);
  const domain = parseDomain({ file: 'ubbconfig', directory: '/app', bytes: Buffer.from(ubbText()) });
  const planned = planHost(domain, { hostname: 'localhost' });
  const [space] = planned.ok ? planned.plan.spaces : [];
  if (space === undefined) throw new Error('the configuration has a space');
  const devices = new Devices(
    {
      clock: new ManualClock(),
      ulog: SILENT,
      soon: (run) => void setImmediate(run),
      randomBytes: (count) => new Uint8Array(count),
      pid: 1,
      runCommand: () => {},
    },
    { io, sync: 'worker', segmentBytes: 64 * 1024, cacheBytes: 1 },
  );
  try {
    const engine = await devices.open(space, {
      signal: new AbortController().signal,
      onProgress: () => {},
    });
    await engine.close();
    return { error: null, calls: io.calls };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { error, calls: io.calls };
  } finally {
    devices.close();
  }
}

test('every call of the disk that fails during the making of a queue space is named by what it failed with', async () => {
  const { calls } = await openWith(0);
  const messages: string[] = [];
  for (let n = 1; n <= calls; n++) {
    const { error } = await openWith(n);
    if (error !== null) messages.push(error.message);
  }
  expect(messages.length).toBeGreaterThan(10);
  expect(messages.filter((message) => !message.includes('EIO'))).toEqual([]);
});

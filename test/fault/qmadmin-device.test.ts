// A device and a queue space being made when the disk fails, or the process is killed, at any of its calls: the device list is the old or
// the new one, the space is there whole or not at all, and the same commands can be given again.
import { closeSync, existsSync, readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type FileIo, nodeFileIo } from '../../src/wal/local/file-io.ts';
import { localDevice, runScript, type Ran } from '../support/qmadmin.ts';
import { tempDir } from '../support/temp-dir.ts';

type Fault = 'fails' | 'is killed';

class Disk {
  calls = 0;
  /** Resolves when the process is as good as killed. */
  readonly killed: Promise<void>;
  private isDead = false;
  private die: () => void = () => {};
  private readonly fds = new Set<number>();
  private at: number;
  private readonly fault: Fault;
  private readonly afterRename: number | null;

  /** `afterRename`: calls are counted from the rename of the space's directory on, which is number 0, instead of `at`. */
  constructor(at: number, fault: Fault, afterRename: number | null = null) {
    this.at = at;
    this.fault = fault;
    this.afterRename = afterRename;
    this.killed = new Promise((resolve) => {
      this.die = resolve;
    });
  }

  /** The real disk, except that call number `at` has its fault; after a kill nothing is called any more. */
  readonly io: FileIo = new Proxy(nodeFileIo, {
    get: (real, name: keyof FileIo) => {
      const call = real[name] as (...values: unknown[]) => unknown;
      return (...values: unknown[]): unknown => {
        if (name === 'close') {
          // The kernel has closed it, and the number may be another's by now.
          if (this.isDead) return undefined;
          this.fds.delete(values[0] as number);
          return call(...values);
        }
        this.calls++;
        if (name === 'rename' && String(values[0]).endsWith('/SP') && this.afterRename !== null)
          this.at = this.calls + this.afterRename;
        const isHit = this.fault === 'fails' ? this.calls === this.at : this.calls >= this.at;
        if (isHit) return this.strike(name);
        const result = call(...values);
        if (name === 'open') this.fds.add(result as number);
        return result;
      };
    },
  });

  /** What the kernel does with the descriptors of a process that ended. */
  release(): void {
    for (const fd of this.fds) closeSync(fd);
  }

  private strike(name: keyof FileIo): unknown {
    const isSync = name.endsWith('Sync') || ['open', 'fileBytes', 'lock'].includes(name);
    const error = Object.assign(new Error(`EIO: i/o error, ${name}`), { code: 'EIO' });
    if (this.fault === 'is killed') {
      this.isDead = true;
      this.die();
      if (!isSync) return new Promise(() => {});
    }
    if (isSync) throw error;
    return Promise.reject(error);
  }
}

const SPACE = 'qspacecreate SP 230458 100 3 5 5 100 ERR y 16';

/** The calls around the device list and the renames, and a part of those that the log makes between them. */
async function points(): Promise<number[]> {
  const { disk } = await makeOn(Infinity, 'fails');
  expect(disk.calls).toBeGreaterThan(40);
  const all = Array.from({ length: disk.calls }, (_, i) => i + 1);
  return all.filter((at) => at <= 16 || at % 5 === 0 || at > disk.calls - 6);
}

async function makeOn(
  at: number,
  fault: Fault,
): Promise<{ disk: Disk; path: string; script: readonly string[] }> {
  const path = `${tempDir()}/dev`;
  const script = [`crdl ${path} 0 400`, SPACE];
  const disk = new Disk(at, fault);
  const ran: Ran | void = await Promise.race([runScript(script, localDevice(path, disk.io)), disk.killed]);
  disk.release();
  if (at === Infinity) expect(ran).toMatchObject({ failures: 0 });
  return { disk, path, script };
}

it.each<[Fault]>([['fails'], ['is killed']])('the disk %s', async (fault) => {
  for (const at of await points()) {
    const { path, script } = await makeOn(at, fault);
    await checkWhole(path, script, at);
  }
});

async function checkWhole(path: string, script: readonly string[], at: number): Promise<void> {
  const has = { device: existsSync(`${path}/device-list.json`), space: existsSync(`${path}/SP`) };
  const again = await runScript(
    [...script, 'qopen SP', 'qcreate ERR fifo none 0 0 100% 0 ""', 'verbose', 'lidl', 'qspl'],
    localDevice(path),
  );
  const exists = again.err.map((line) => /^qmadmin: line (\d): .* exists already/.exec(line)?.[1]);
  // What was there says so; what was not there is made.
  expect({ at, exists }).toEqual({ at, exists: [...(has.device ? ['1'] : []), ...(has.space ? ['2'] : [])] });
  expect(again.out.slice(1).map((line) => line.replace(/ +/g, ' ').trim())).toEqual([
    `0 ${path} 0 400`,
    'taken by SP: 100 pages',
    'free: 300 pages',
    expect.stringMatching(/^NAME /),
    'SP 230458 100 3 5 5 100 ERR 16 0 0 0 0 0 0 0 0',
  ]);
  expect(readdirSync(path).sort()).toEqual(['LOCK', 'SP', 'device-list.json']);
}

/** How often a script calls the disk, and what is left when a call has its fault. */
async function changeOn(disk: Disk, command: string): Promise<{ path: string; calls: number }> {
  const path = `${tempDir()}/dev`;
  await runScript([`crdl ${path} 0 400`, SPACE], localDevice(path));
  await Promise.race([runScript([command], localDevice(path, disk.io)), disk.killed]);
  disk.release();
  return { path, calls: disk.calls };
}

it.each<[Fault]>([['fails'], ['is killed']])('a space is gone or whole when the disk %s', async (fault) => {
  // The rename itself and what follows: its sync, and the device list's read and write.
  for (const at of [0, 1, 2, 3, 5, 7, 9]) {
    const { path } = await changeOn(new Disk(Infinity, fault, at), 'qspds SP');
    const isThere = existsSync(`${path}/SP`);
    expect({ at, isThere }).toEqual({ at, isThere: at === 0 });
    const ran = await runScript(['qopen SP', 'verbose', 'lidl'], localDevice(path));
    expect({ at, failures: ran.failures, free: ran.out.at(-1) }).toEqual({
      at,
      failures: isThere ? 0 : 1,
      free: isThere ? 'free: 300 pages' : 'free: 400 pages',
    });
    expect((await runScript([SPACE, 'qopen SP'], localDevice(path))).failures).toBe(isThere ? 1 : 0);
    expect(readdirSync(path).sort()).toEqual(['LOCK', 'SP', 'device-list.json']);
  }
});

it.each<[Fault]>([['fails'], ['is killed']])(
  'pages that are added are there or not when the disk %s, and none are lost',
  async (fault) => {
    const { calls } = await changeOn(new Disk(Infinity, 'fails'), 'qaddext SP 50');
    const some = Array.from({ length: calls }, (_, i) => i + 1).filter((at) => at % 8 === 0);
    // How many calls there are depends on how the log writes: the last of these has no fault in any case.
    const chosen = [1, ...some, calls - 1, calls, calls + 100];
    const seen = new Set<string>();
    for (const at of chosen) {
      const { path } = await changeOn(new Disk(at, fault), 'qaddext SP 50');
      const { out, failures, err } = await runScript(
        ['qspl', 'qaddext SP 10', 'qspl', 'v', 'lidl'],
        localDevice(path),
      );
      expect({ at, failures, err }).toEqual({ at, failures: 0, err: [] });
      const [before = '', after = ''] = out
        .filter((line) => line.startsWith('SP'))
        .map((line) => line.split(/ +/)[2]);
      seen.add(before);
      expect({ at, after, free: out.at(-1) }).toEqual({
        at,
        after: String(Number(before) + 10),
        free: `free: ${400 - Number(after)} pages`,
      });
    }
    expect(seen).toEqual(new Set(['100', '150']));
  },
);

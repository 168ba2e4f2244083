// Where the log goes when its reader does not read or its file cannot be written: lines are lost and counted, nothing waits.
import { existsSync, readFileSync, renameSync, rmSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { logFile, type LogOutput, StreamOutput } from '../../src/ulog/log-output.ts';
import { PinoUlog } from '../../src/ulog/pino-ulog.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A standard error whose reader takes what it is told to. */
class Reader extends Writable {
  readonly taken: string[] = [];
  private held: (() => void)[] = [];
  reads = false;

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const take = (): void => {
      this.taken.push(String(chunk));
      done();
    };
    if (this.reads) take();
    else this.held.push(take);
  }

  /** Reads all there is, and goes on reading. */
  async readAll(): Promise<void> {
    this.reads = true;
    for (const take of this.held.splice(0)) take();
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

function streamOutput(reader: Reader): LogOutput {
  return new StreamOutput(Object.assign(reader, { isTTY: false }) as never);
}

describe('standard error', () => {
  it('keeps a megabyte for a reader that does not read, drops the rest, and says how much when it reads again', async () => {
    const reader = new Reader();
    const ulog = new PinoUlog({ name: 'x' }, streamOutput(reader));
    for (let i = 0; i < 3000; i++) ulog.info('x'.repeat(1000));
    await reader.readAll();
    const kept = reader.taken.length;
    expect(kept).toBeGreaterThan(900);
    expect(kept).toBeLessThan(1100);
    ulog.info('again');
    await reader.readAll();
    const [lost, again] = reader.taken
      .slice(kept)
      .map((line) => JSON.parse(line) as { msg: string; lost?: number });
    expect([lost?.lost, again?.msg]).toEqual([3000 - kept, 'again']);
  });

  it('that broke is not written to any more', async () => {
    const reader = new Reader();
    const output = streamOutput(reader);
    reader.destroy(Object.assign(new Error('EPIPE'), { code: 'EPIPE' }));
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    output.write('x\n');
    await output.flush(10);
    expect([reader.taken, output.takeLost()]).toEqual([[], 0]);
  });

  it('is waited for at the end, but not for long', async () => {
    const reader = new Reader();
    const output = streamOutput(reader);
    output.write('last words\n');
    await output.flush(20);
    expect(reader.taken).toEqual([]);
    reader.reads = true;
    const flushed = output.flush(60_000);
    await reader.readAll();
    await flushed;
    expect(reader.taken.join('')).toBe('last words\n');
  });
});

describe('a log file', () => {
  it('is appended to, and made anew when it was renamed', () => {
    const dir = tempDir();
    const [path, old] = [join(dir, 'log'), join(dir, 'log.1')];
    const output = logFile(path);
    output.write('one\n');
    renameSync(path, old);
    output.write('two\n');
    expect(existsSync(path)).toBe(false);
    expect(output.reopen()).toBe(path);
    output.write('three\n');
    logFile(path).write('four\n');
    expect([readFileSync(old, 'utf8'), readFileSync(path, 'utf8')]).toEqual(['one\ntwo\n', 'three\nfour\n']);
  });

  it('that cannot be opened again stays, and the log says so', () => {
    const dir = tempDir();
    const folder = join(dir, 'logs');
    mkdirSync(folder);
    const [path, old] = [join(folder, 'log'), join(dir, 'old')];
    const ulog = new PinoUlog({ name: 'x' }, logFile(path));
    renameSync(path, old);
    rmSync(folder, { recursive: true });
    ulog.reopen();
    expect(readFileSync(old, 'utf8')).toMatch(/"level":50.*cannot be opened.*the log goes on in the old one/);
  });

  it.skipIf(!existsSync('/dev/full'))('on a full disk costs lines and nothing else', () => {
    const output = logFile('/dev/full');
    output.write('x\n');
    expect(output.takeLost()).toBe(0);
  });

  it('must not be a folder', () => {
    const dir = tempDir();
    expect(() => logFile(dir)).toThrow(`the log file ${dir} cannot be opened`);
  });
});

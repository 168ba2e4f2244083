// What the service manager is told, by a stand-in for systemd-notify on PATH and a clock that the test moves [C69].
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ServiceManager } from '../../src/boot/service-manager.ts';
import { Readiness } from '../../src/metrics/readiness.ts';
import { eventually } from '../support/in-process.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { tempDir } from '../support/temp-dir.ts';

interface Scene {
  readonly clock: ManualClock;
  readonly readiness: Readiness;
  readonly service: ServiceManager;
  /** Waits for so many lines, and for the end of who said them: the clock that a test moves limits that too. */
  readonly said: (count: number) => Promise<string[]>;
}

function scene(more: NodeJS.ProcessEnv = {}): Scene {
  const dir = tempDir();
  const notes = join(dir, 'notes');
  const program = join(dir, 'systemd-notify');
  writeFileSync(program, `#!/bin/sh\necho "$@" >>"${notes}"\n`);
  chmodSync(program, 0o755);
  const clock = new ManualClock();
  const readiness = new Readiness();
  const ulog = { info: () => {}, warn: () => {}, error: () => {} };
  const env = { PATH: `${dir}:${process.env['PATH']}`, NOTIFY_SOCKET: join(dir, 'socket'), ...more };
  const service = ServiceManager.from(env, { clock, ulog, readiness, pid: 42 });
  if (service === null) throw new Error('there is a socket');
  onTestFinished(() => {
    const closed = service.close(1000);
    clock.advance(1000);
    return closed;
  });
  const said = (count: number): Promise<string[]> =>
    eventually(() => {
      const lines = existsSync(notes) ? readFileSync(notes, 'utf8').trim().split('\n') : [];
      return lines.length >= count && service.isQuiet && lines;
    });
  return { clock, readiness, service, said };
}

describe('a long start', () => {
  it('gets more time every few seconds while it makes progress, and none when it hangs', async () => {
    const { clock, readiness, said } = scene();
    await said(1);
    readiness.recovering(0.1);
    clock.advance(5000);
    readiness.recovering(0.25);
    await said(2);
    readiness.recovering(0.3);
    // No progress.
    clock.advance(100_000);
    readiness.ready();
    expect(await said(3)).toEqual([
      'EXTEND_TIMEOUT_USEC=60000000 STATUS=starting',
      'EXTEND_TIMEOUT_USEC=60000000 STATUS=recovering 25 %',
      'READY=1 STATUS=ready',
    ]);
  });
});

describe('a daemon at work', () => {
  it('says that it lives twice in a period, from READY on', async () => {
    const { clock, readiness, said } = scene({ WATCHDOG_USEC: '2000000', WATCHDOG_PID: '42' });
    await said(1);
    clock.advance(10_000);
    readiness.ready();
    await said(2);
    for (const count of [3, 4]) {
      clock.advance(1000);
      await said(count);
    }
    expect((await said(4)).slice(1)).toEqual(['READY=1 STATUS=ready', 'WATCHDOG=1', 'WATCHDOG=1']);
  });

  it('that fails says so, and then that it stops', async () => {
    const { readiness, said } = scene();
    readiness.ready();
    readiness.failed('the log of queue space Q failed');
    readiness.stopping();
    const lines = await said(3);
    expect(lines.slice(1)).toEqual([
      'READY=1 STATUS=ready',
      'STOPPING=1 STATUS=failed: the log of queue space Q failed',
    ]);
  });

  it('tells of a reload only when it is ready', async () => {
    const { readiness, service, said } = scene();
    let runs = 0;
    service.reloading(() => runs++);
    readiness.ready();
    service.reloading(() => runs++);
    const lines = await said(4);
    expect(lines.map((line) => line.split(' ')[0]?.split('=')[0])).toEqual([
      'EXTEND_TIMEOUT_USEC',
      'READY',
      'RELOADING',
      'READY',
    ]);
    expect(runs).toBe(2);
  });
});

describe('the environment', () => {
  it('is cleared of what is meant for the daemon alone', () => {
    const env: NodeJS.ProcessEnv = { NOTIFY_SOCKET: '', WATCHDOG_USEC: '1', WATCHDOG_PID: '2', HOME: '/' };
    const ulog = { info: () => {}, warn: () => {}, error: () => {} };
    const ports = { clock: new ManualClock(), ulog, readiness: new Readiness(), pid: 1 };
    expect(ServiceManager.from(env, ports)).toBeNull();
    expect(env).toEqual({ HOME: '/' });
  });
});

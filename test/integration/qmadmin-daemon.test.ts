// qmadmin on a device that a running daemon holds: the same commands with the same words, through the daemon; and a daemon that comes or goes
// during a session.
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Input, LineSource } from '../../src/qmadmin/lines.ts';
import { deviceHolder } from '../../src/wal/local/device-lock.ts';
import { localDevice, reachableDevice, runLines, runScript, type Ran } from '../support/qmadmin.ts';
import { session, withDaemon } from '../support/qmadmin-place.ts';
import { tempDir } from '../support/temp-dir.ts';

const SHARED = process.env['TMQUEUE_SHARED'] ?? join(import.meta.dirname, '../../../shared');
const SPACE = 'qspc SP 230458 100 4 5 5 200 ERR y 16';

/** A script that can do something between its lines. */
class Lines implements LineSource {
  readonly isTerminal = false;
  readonly rows = 0;
  private readonly steps: (string | (() => Promise<void>))[];
  private number = 0;

  constructor(steps: (string | (() => Promise<void>))[]) {
    this.steps = [...steps];
  }

  async next(): Promise<Input> {
    for (;;) {
      const step = this.steps.shift();
      if (step === undefined) return { kind: 'end' };
      if (typeof step === 'string') return { kind: 'line', text: step, number: ++this.number };
      await step();
    }
  }

  lend<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  takeBreak(): boolean {
    return false;
  }

  close(): void {}
}

async function runSteps(path: string, ...steps: (string | (() => Promise<void>))[]): Promise<Ran> {
  const device = reachableDevice(path);
  try {
    return await runLines(new Lines(steps), device);
  } finally {
    await device.close();
  }
}

describe('a daemon', () => {
  it('says in the lock where it can be reached, and no more when it stops', async () => {
    const { path, daemon } = await withDaemon();
    const holder = { pid: String(process.pid), address: daemon.address, device: path };
    expect(deviceHolder(path)).toEqual(holder);
    const device = reachableDevice(path);
    await device.check();
    expect(device.reached).toBe(`through the running daemon (pid ${process.pid}, ${daemon.address})`);
    await device.close();
    // Whatever the operator calls the device.
    symlinkSync(path, `${daemon.dir}/link`);
    const { out, err } = await session(`${daemon.dir}/link`, ['qopen SERVED', 'qinfo']);
    expect({ out, err }).toEqual({ out: [expect.stringMatching(/^Queue Q: 0 /)], err: [] });
    await daemon.stop();
    expect(deviceHolder(path)).toEqual({ ...holder, address: null, device: '' });
    await device.check();
    expect(device.reached).toBe('the daemon is stopped');
  });

  it('shows changes of qmadmin to its clients, and messages of its clients to qmadmin', async () => {
    const { daemon, run } = await withDaemon();
    const ctx = await daemon.join();
    await ctx.tpenqueue('ALIAS', 'Q', null, 'x');
    const ran = await run(
      'qopen SERVED',
      'qcr NEW priority none 2 3 10m 0 ""',
      'qch Q none 7 0 50m 5m ""',
      'qinfo',
      'v',
      'qi Q',
    );
    expect(ran.err).toEqual([]);
    expect(ran.out.slice(0, 3)).toEqual([
      'Queue NEW: 0 persistent messages in 0 pages, 0 non-persistent messages in 0 bytes',
      expect.stringMatching(/^Queue Q: 1 persistent messages in [12] pages, /),
      expect.stringMatching(/^Queue Q: 1 /),
    ]);
    expect(ran.out.slice(3, 8)).toEqual([
      '  order: fifo',
      '  out-of-order enqueuing: none',
      '  retries: 7',
      '  retry delay: 0 seconds',
      '  limits: high 50m, low 5m, command none',
    ]);
    await ctx.tpenqueue('ALIAS', 'NEW', null, 'y');
    expect((await run('qopen SERVED', 'qi NEW')).out[0]).toContain('Queue NEW: 1 persistent');
  });

  it('sends messages of its error queue back', async () => {
    const { daemon, run } = await withDaemon();
    const ctx = await daemon.join();
    await run('qopen SERVED', 'qcr ERR fifo none 0 0 100% 0 ""');
    await ctx.tpenqueue('ALIAS', 'Q', null, 'x');
    await ctx.tpbegin(60);
    await ctx.tpdequeue('ALIAS', 'Q', null, null);
    await ctx.tpabort();
    const ran = await run('qopen SERVED', 'qi ERR', 'qredrive', 'qi Q', 'qredrive NONE');
    expect(ran.err).toEqual([expect.stringMatching(/^qmadmin: line 5: qredrive: .*no queue NONE/)]);
    expect(ran.out[0]).toMatch(/^Queue ERR: 1 persistent/);
    expect(ran.out.at(-1)).toMatch(/^Queue Q: 1 persistent/);
  });

  it('takes in a space that its configuration does not name, for administration alone', async () => {
    const { daemon, run } = await withDaemon();
    const ran = await run(SPACE, 'qopen SP', 'qcr A fifo none 0 0 100% 0 ""', 'qi', 'qspl SP');
    expect(ran).toMatchObject({
      err: [],
      out: [
        expect.stringMatching(/^Queue A: 0 /),
        expect.stringMatching(/^NAME/),
        expect.stringMatching(/^SP +230458 +100 +4 +5 +5 +200 +ERR +16$/),
      ],
    });
    const ctx = await daemon.join();
    await expect(ctx.tpenqueue('SP', 'A', null, 'x')).rejects.toThrow('TPENOENT');
    await daemon.stop();
    expect((await run('qopen SP', 'qi')).out).toEqual([expect.stringMatching(/^Queue A: 0 /)]);
  });
});

describe('the daemon in the middle of a session', () => {
  it('stops: one line says so, nothing is lost, the next qopen works on the files', async () => {
    const { path, daemon } = await withDaemon();
    const { err, out, failures } = await runSteps(
      path,
      'qopen SERVED',
      'qcr A fifo none 0 0 100% 0 ""',
      () => daemon.stop(),
      'qinfo',
      'qcr B fifo none 0 0 100% 0 ""',
      'lidl 0',
      'qopen SERVED',
      'qcr B fifo none 0 0 100% 0 ""',
      'qinfo',
    );
    expect(err).toEqual([
      expect.stringMatching(/^qmadmin: line 3: qinfo: the daemon is gone: /),
      'qmadmin: line 4: qcreate: the daemon is gone: open the space again: qopen SERVED',
    ]);
    expect(failures).toBe(2);
    expect(out.slice(2).map((line) => line.split(':')[0])).toEqual(['Queue A', 'Queue B', 'Queue Q']);
  });

  it('stops for qaddext, as the manual of Tuxedo has it: the group is shut down, qclose, qaddext [spec 8.6]', async () => {
    const { path, daemon } = await withDaemon();
    const ran = await runSteps(
      path,
      'qopen SERVED',
      () => daemon.stop(),
      'qclose',
      'qaddext SERVED 5',
      'qspl',
    );
    expect(ran.err).toEqual([]);
    expect(ran.out[1]).toMatch(/^SERVED +230400 +105 /);
  });

  it('starts: the next command goes through it', async () => {
    const { path, daemon } = await withDaemon();
    await daemon.stop();
    const ran = await runSteps(
      path,
      'lidl',
      async () => void (await daemon.start()),
      'qopen SERVED',
      'qcr A fifo none 0 0 100% 0 ""',
    );
    expect(ran.err).toEqual([]);
    const ctx = await daemon.join();
    expect((await ctx.admin('ALIAS').info('A')).name).toBe('A');
  });

  it('is another one: qopen finds it, and a command after a failed qopen acts on nothing', async () => {
    const { path, daemon } = await withDaemon();
    const ran = await runSteps(
      path,
      'qopen SERVED',
      () => daemon.restart(),
      'qopen SERVED',
      'qcr A fifo none 0 0 100% 0 ""',
      'qopen NONE',
      'qcr B fifo none 0 0 100% 0 ""',
      'qinfo',
    );
    expect(ran.err).toEqual([
      `qmadmin: line 4: qopen: queue space NONE does not exist on device ${path}`,
      'qmadmin: line 5: qcreate: no queue space is open; first: qopen SPACE',
      'qmadmin: line 6: qinfo: no queue space is open; first: qopen SPACE',
    ]);
  });
});

describe('a dialogue, with the daemon running', () => {
  /** Answers on the line, one a line, and both; wrong ones; what comes after the end of one. */
  const lines = [
    'qspc SP# 230458 100 4 5',
    '6',
    '70',
    'ERR',
    '',
    '',
    'qopen',
    'SP#',
    'QCR A time none 3',
    '5',
    'x',
    '0',
    '',
    'qcr B',
    'lifo',
    '',
    '',
    '',
    '',
    '',
    '',
    'qpause',
    'B',
    'qopen NONE',
    'qcr C fifo none 0 0 100% 0 ""',
  ];

  it('cut off at any line makes what it makes with the daemon stopped', async () => {
    const { path } = await withDaemon();
    const alone = `${tempDir()}/dev`;
    await runScript([`crdl ${alone} 0 9000`], localDevice(alone));
    await session(path, ['crdl /more 0 7000']);
    for (let cut = 1; cut <= lines.length; cut += 2) {
      const script = lines.slice(0, cut).map((line) => line.replace('#', String(cut)));
      const text = script.map((line) => `${line}${cut % 4 === 1 ? '\n' : '\r\n'}`).join('');
      const look = ['v', `qspl SP${cut}`, `qopen SP${cut}`, 'qinfo'];
      const through = { ran: await session(path, text), left: await session(path, look) };
      const files = {
        ran: await runScript(text, localDevice(alone)),
        left: await runScript(look, localDevice(alone)),
      };
      const plain = (what: typeof files): string => JSON.stringify({ cut, ...what }).replaceAll(alone, path);
      expect(plain(through)).toBe(plain(files));
      expect(through.left.failures).toBe(cut < 6 ? 3 : 0);
    }
  });
});

describe('a command file, with the daemon running', () => {
  const dir = `${SHARED}/qmadmin`;
  const files = existsSync(dir) ? readdirSync(dir).filter((name) => name.endsWith('.cmds')) : [];
  const texts = files.map((name) => [name, readFileSync(`${dir}/${name}`, 'utf8')] as const);
  const ours = [
    'crdl $QMCONFIG 0 4000\nqspc -A 3 -n 10B MINE 230458 200 4 5 6 70 ERR y 16\nqopen MINE',
    'qcreate\nERR\n\n\n\n\n\n\n\nqcr -d nonpersist -n 80%,10%,none -e 30 W priority,time,lifo top,msgid 3 5 100m',
    '0\n"tmboot -s TMQFORWARD"\nqch W none 9 0 20m 5m ""\n',
  ].join('\n');

  it.each<readonly [string, string]>([
    ['ours', ours],
    ['ours, CRLF', ours.replaceAll('\n', '\r\n')],
    ...texts,
  ])(
    '%s: what it makes is what it makes with the daemon stopped; a second run changes nothing',
    async (_, text) => {
      const { path } = await withDaemon();
      const alone = `${tempDir()}/dev`;
      // Public files name their device as they like, and the daemon's is there already: it gets another entry.
      const on = (device: string, offset: number): string =>
        text.replace(/^crdl \S+ 0/m, `crdl ${device} ${offset}`).replaceAll('$QMCONFIG', device);
      const look = `qspl MYSPACE\nqspl QSPACE\nqspl MINE\nverbose\n${['MYSPACE', 'QSPACE', 'MINE']
        .map((name) => `qopen ${name}\nqinfo\n`)
        .join('')}`;
      const through = await session(path, on(path, 2000));
      const files2 = await runScript(on(alone, 0), localDevice(alone));
      expect(through).toEqual(files2);
      expect(through).toMatchObject({ failures: 0, err: [] });
      const made = (await session(path, look)).out;
      expect(made).toEqual((await runScript(look, localDevice(alone))).out);
      expect(made.length).toBeGreaterThan(20);

      const again = await session(path, on(path, 2000));
      expect(
        again.err.filter(
          (line) => !/^qmadmin: line \d+: (crdl|qspacecreate|qcreate): .* exists already/.test(line),
        ),
      ).toEqual([]);
      expect(again.failures).toBeGreaterThanOrEqual(4);
      if (!text.includes('qch ')) expect((await session(path, look)).out).toEqual(made);
    },
  );
});

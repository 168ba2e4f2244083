// How a command's arguments are got: from its line, one a line, or mixed [spec 5.1]; at a terminal, and cut off.
import { PassThrough } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';
import { describe, expect, it } from 'vitest';
import { TerminalLines } from '../../src/qmadmin/terminal.ts';
import type { QueueView } from '../../src/qmadmin/port.ts';
import type { LocalDevice } from '../../src/qmadmin/local/local-device.ts';
import { localDevice, runLines, runScript, type Ran } from '../support/qmadmin.ts';
import { eventually } from '../support/in-process.ts';
import { tempDir } from '../support/temp-dir.ts';

async function deviceWithSpace(): Promise<LocalDevice> {
  const device = localDevice(`${tempDir()}/dev`);
  const made = await runScript(
    [`crdl ${device.path} 0 1000`, 'qspc SP 230458 100 20 5 5 200 ERR y 16'],
    device,
  );
  expect(made).toEqual({ out: [], err: [], failures: 0, system: [] });
  return device;
}

async function queuesOf(device: LocalDevice): Promise<readonly QueueView[]> {
  const space = await device.openSpace('SP');
  const queues = await space.queues();
  await space.close();
  return queues;
}

async function namesOf(device: LocalDevice): Promise<string[]> {
  return (await queuesOf(device)).map(({ attributes }) => attributes.name);
}

describe('answers', () => {
  it('may stand on the line, one a line, or both', async () => {
    const device = await deviceWithSpace();
    const ran = await runScript(
      [
        'qopen SP',
        'qcreate A priority,time top 2 30 80% 0% "tmboot -s X"',
        'qcreate',
        'B',
        ' priority, time ',
        'top',
        '2',
        '30',
        '80%',
        '0%',
        'tmboot -s X',
        'qcreate C priority,time top 2',
        '30',
        '80%',
        '0',
        '"tmboot -s X"',
        'qcreate D priority,time top 2 30 80% 0',
        '',
        'qcreate -d nonpersist -e 60 -n 50%,10%,x,y',
        'E',
        '',
        '',
        '',
        '',
        '',
        '',
        '',
        'qcreate -dpersist -e none F',
        '',
        '',
        '',
        '',
        '',
        '',
        '',
      ],
      device,
    );
    expect(ran.err).toEqual([]);
    const shown = (await queuesOf(device)).map(({ attributes }) => attributes);
    const first = {
      order: 'priority,time,fifo',
      outOfOrder: 'top',
      retries: 2,
      delayS: 30,
      high: '80%',
      low: '0%',
    };
    const plain = {
      order: 'fifo',
      outOfOrder: 'none',
      retries: 0,
      delayS: 0,
      high: '100%',
      low: '0%',
      cmd: '',
    };
    expect(shown).toMatchObject([
      ...['A', 'B', 'C'].map((name) => ({ ...first, name, cmd: 'tmboot -s X' })),
      { ...first, name: 'D', cmd: '' },
      {
        ...plain,
        name: 'E',
        policy: 'nonpersist',
        expiryS: 60,
        nonPersistentHigh: '50%',
        nonPersistentLow: '10%',
        nonPersistentCmd: 'x,y',
      },
      { ...plain, name: 'F', policy: 'persist', expiryS: -1, nonPersistentHigh: '100%' },
    ]);
  });

  it('are the ten of qspacecreate in their order', async () => {
    const device = await deviceWithSpace();
    const answers = ['S2', '230459', '200', '1', '2', '3', '4', '', '', ''];
    const ran = await runScript(
      [
        'qspacecreate -n 1000 -A 7',
        ...answers,
        'verbose',
        'qspacelist S2',
        'qspc "a b" 1 2 3 4 5 6 E n 100',
        'qspl "a b"',
      ],
      device,
    );
    expect(ran.err).toEqual([
      'qmadmin: line 14: qspacecreate: warning: IPC key 1 is below 32769; it has no effect here, and the command was done',
    ]);
    expect(ran.out.map((line) => line.replace(/ +/g, ' ').trim())).toEqual([
      'NAME IPCKEY PAGES QUEUES TRANS PROCS MSGS ERRORQ BLOCKING ACTIONS NONPERSIST HANDLES CURSORS OWNERS TMPQUEUES FILTER OVERFLOW',
      'S2 230459 200 1 2 3 4 "" 16 7 512000 0 0 0 0 0 0',
      'NAME IPCKEY PAGES QUEUES TRANS PROCS MSGS ERRORQ BLOCKING ACTIONS NONPERSIST HANDLES CURSORS OWNERS TMPQUEUES FILTER OVERFLOW',
      '"a b" 1 2 3 4 5 6 E 100 0 0 0 0 0 0 0 0',
    ]);
  });

  it('that are needed are asked for again when they are left empty', async () => {
    const device = await deviceWithSpace();
    const ran = await runScript(['qopen', '', '  ', 'SP', 'qcreate Q', '', '', '', '', '', '', ''], device);
    expect(ran).toMatchObject({
      failures: 0,
      err: [
        'qmadmin: line 2: qopen: queue space name: an answer is needed',
        'qmadmin: line 3: qopen: queue space name: an answer is needed',
      ],
    });
    expect(await namesOf(device)).toEqual(['Q']);
  });

  it('that are wrong are all named by their line, none is taken for a command, and nothing is done', async () => {
    const device = await deviceWithSpace();
    const ran = await runScript(
      [
        'qopen SP',
        'qcreate',
        'Q',
        'random',
        'quit',
        '!false',
        'x',
        '0m',
        '"a',
        '',
        'qcreate -z -e Q X fifo none',
        'qinfo',
      ],
      device,
    );
    expect(ran).toMatchObject({ out: [], system: [], failures: 2 });
    expect(ran.err.map((line) => line.replace(/ is not legal.*/, ''))).toEqual([
      'qmadmin: line 4: qcreate: queue order: random',
      'qmadmin: line 5: qcreate: out-of-order enqueuing: quit',
      'qmadmin: line 6: qcreate: retries: "!false"',
      'qmadmin: line 7: qcreate: retry delay in seconds: x',
      'qmadmin: line 8: qcreate: high limit: 0m',
      'qmadmin: line 9: qcreate: the quote in column 1 is never closed',
      'qmadmin: line 11: qcreate: no option "-z"; legal: -d, -n, -e',
      'qmadmin: line 11: qcreate: -e Q',
      'qmadmin: line 12: qcreate: retries: qinfo',
      'qmadmin: line 11: qcreate: the input ends at the question for the retry delay in seconds: nothing was done',
    ]);
    expect(await namesOf(device)).toEqual([]);
  });

  it('cut off anywhere by the end of the input create nothing', async () => {
    const device = await deviceWithSpace();
    const dialogue = ['qcreate', 'Q', 'fifo', 'none', '0', '0', '100%', '0%'];
    for (let kept = 1; kept <= dialogue.length; kept++) {
      const ran = await runScript(['qopen SP', ...dialogue.slice(0, kept)], device);
      expect(ran.failures).toBe(1);
      expect(ran.err[0]).toMatch(
        /^qmadmin: line 2: qcreate: the input ends at the question for the .*: nothing was done$/,
      );
    }
    expect(await namesOf(device)).toEqual([]);
    await runScript(['qopen SP', ...dialogue, ''], device);
    expect(await namesOf(device)).toEqual(['Q']);
  });

  it('in surplus are refused', async () => {
    const device = await deviceWithSpace();
    const ran = await runScript(['qopen SP extra "w d"', 'qinfo'], device);
    expect(ran.err).toEqual([
      'qmadmin: line 1: qopen: too many arguments: extra "w d"',
      'qmadmin: line 2: qinfo: no queue space is open; first: qopen SPACE',
    ]);
  });

  it('and their prompts are shown in a pipe only when echo is on', async () => {
    const device = await deviceWithSpace();
    const script = ['qopen SP', 'qcreate Q fifo none 0', '', '', '', '', 'qinfo Q'];
    expect((await runScript(script, device)).out).toHaveLength(1);
    const { out } = await runScript(['echo', 'qopen SP', 'qopen', 'SP', '', 'echo', 'qopen SP'], device);
    expect(out).toEqual(['> qopen SP', '> qopen', 'Queue space name: SP', '> ', '> echo']);
  });
});

/** A terminal whose person types `keys` one after the other, each when the prompt for it has been shown. */
async function type(device: LocalDevice, keys: readonly string[]): Promise<Ran & { screen: string }> {
  const raw: boolean[] = [];
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (on: boolean) => raw.push(on) });
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 200, rows: 50 });
  let screen = '';
  output.on('data', (text) => (screen += String(text)));
  const terminal = { input, output } as unknown;
  const ran = runLines(new TerminalLines(terminal as { input: ReadStream; output: WriteStream }), device);
  for (const [i, key] of keys.entries()) {
    const before = screen.length;
    input.write(key);
    if (i < keys.length - 1) await eventually(() => /(> |: )[^\n]*$/.test(screen.slice(before)));
  }
  return { ...(await ran), screen };
}

describe('at a terminal', () => {
  it('wrong answers are asked for again, RETURN repeats, BREAK ends a dialogue and what RETURN repeats', async () => {
    const device = await deviceWithSpace();
    const ran = await type(device, [
      'qopen SP\r',
      'qcreate Q\r',
      'random\r',
      'lifo\r',
      '\r',
      '\r',
      '\r',
      '\r',
      '\r',
      '\r',
      'qinfo\r',
      '\r',
      'qcreate Z\r',
      '\u0003',
      '\r',
      'qcreate Y random\r',
      '!tty\r',
      '\u0004',
    ]);
    expect(ran.err).toEqual([
      'qmadmin: qcreate: queue order: random is not legal; legal: a list of priority, time, expiration, each once, then optionally fifo or lifo',
      'qmadmin: qcreate: queue order: random is not legal; legal: a list of priority, time, expiration, each once, then optionally fifo or lifo',
    ]);
    const line = 'Queue Q: 0 persistent messages in 0 pages, 0 non-persistent messages in 0 bytes';
    expect(ran.out).toEqual([
      `qmadmin: device ${device.path}, the daemon is stopped`,
      'queue space SP is open, the daemon is stopped',
      'queue Q was created',
      line,
      line,
    ]);
    expect(ran.system).toEqual(['tty']);
    expect(ran.screen).toContain('Queue order (priority, time, expiration, fifo, lifo) [default=fifo]: ');
    expect(await namesOf(device)).toEqual(['Q']);
  });

  it('Ctrl-C while a command runs is for that command, and once', async () => {
    const input = new PassThrough();
    const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
    const lines = new TerminalLines({ input, output } as unknown as {
      input: ReadStream;
      output: WriteStream;
    });
    input.write('qlist\r');
    expect(await lines.next('> ')).toMatchObject({ kind: 'line', text: 'qlist' });
    expect(lines.takeBreak()).toBe(false);
    input.write('\u0003');
    await eventually(() => lines.takeBreak());
    expect(lines.takeBreak()).toBe(false);
    input.write('qinfo\r');
    expect(await lines.next('> ')).toMatchObject({ kind: 'line', text: 'qinfo' });
    lines.close();
  });

  it('pasted lines are carried out one after the other', async () => {
    const device = await deviceWithSpace();
    const ran = await type(device, [
      'qopen SP\rqcr A fifo none 0 0 1m 0 ""\rqcr B\r\r\r\r\r\r\r\rqinfo A\r',
      'quit\r',
    ]);
    expect(ran.err).toEqual([]);
    expect(ran.out.at(-1)).toMatch(/^Queue A: 0 /);
    expect(await namesOf(device)).toEqual(['A', 'B']);
  });
});

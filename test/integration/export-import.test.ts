// `tmqueue export --drain` and `tmqueue import`: every property, the order, what is refused, and that a kill at any moment of either program or of
// the daemon neither loses nor doubles a message.
import { appendFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Context, tpinit, TPQ, TPQCTL, typed } from '../../clients/typescript/index.ts';
import { report } from '../../src/cli/exit.ts';
import { addExport } from '../../src/cli/export.ts';
import { addImport } from '../../src/cli/import.ts';
import { daemonForAll, daemonForTest, eventually, type InProcess } from '../support/in-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { ubbText } from '../support/ubb-text.ts';
import { CliProcess, type Exit, folderWith, startCli } from './cli-process.ts';
import { ctlOf, drain, fresh, OUTPUTS, put, putId, SPACE, take } from './helpers.ts';

const QUEUES = fresh('Q', 24);
const daemon = daemonForAll({
  spaces: [
    {
      queues: [...QUEUES.names, 'ERR', { name: 'PRIO', more: 'ORDER=priority' }],
      errorQueue: 'ERR',
      more: 'NONPERSIST="1m"',
    },
  ],
});

const CONNECT = ['--connect <address>', 'the daemon'] as const;

/** A program of its own: what a test may kill. */
const program = (address: string, ...words: string[]): CliProcess =>
  new CliProcess([...words, '--connect', address]);

/** The same command inside the test's process, which costs no start of Node. */
async function run(address: string, ...words: string[]): Promise<Exit> {
  const exit: Exit = { code: null, stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((chunk) => {
      exit[name] += String(chunk);
      return true;
    }),
  );
  const started: Promise<number>[] = [];
  const command = new Command('tmqueue').exitOverride();
  addExport(command, (work) => void started.push(work), CONNECT);
  addImport(command, (work) => void started.push(work), CONNECT);
  try {
    await command.parseAsync([...words, '--connect', address], { from: 'user' });
    exit.code = (await started[0]) ?? null;
  } catch (error) {
    exit.code = report(error);
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return exit;
}

const exportWords = (queue: string, file: string): string[] => [
  'export',
  SPACE,
  queue,
  '--drain',
  '-o',
  file,
];
const exporting = (queue: string, file: string, ...more: string[]): Promise<Exit> =>
  run(daemon.address, ...exportWords(queue, file), ...more);
const importing = (queue: string, file: string, ...more: string[]): Promise<Exit> =>
  run(daemon.address, 'import', SPACE, queue, file, ...more);
const linesOf = (file: string): string[] => readFileSync(file, 'utf8').split('\n').slice(1, -1);
const textsOf = (file: string): string[] =>
  linesOf(file).map((line) => (JSON.parse(line) as { text: string }).text);
const addressOf = ({ port }: { port: number }): string => `//127.0.0.1:${port}`;
const numbered = (count: number): string[] => Array.from({ length: count }, (_, n) => `message ${n}`);

async function fill(queue: string, texts: readonly string[], on: InProcess = daemon): Promise<void> {
  const ctx = await on.join();
  await Promise.all(texts.map((text) => ctx.tpenqueue(SPACE, queue, null, text)));
}

/** Ends a program by SIGKILL as soon as `when` says so, unless it ends before. */
async function killed(victim: CliProcess, when: () => boolean): Promise<Exit> {
  let isOver = false;
  const exit = victim.exit.finally(() => (isOver = true));
  await eventually(() => isOver || when(), 60_000);
  victim.signal('SIGKILL');
  return exit;
}

describe('export and import', () => {
  it('carry every property of a message, and the order', async () => {
    const [from, to, file] = ['PRIO', QUEUES.next(), join(tempDir(), 'file')];
    const ctx = await daemon.join();
    const all =
      TPQ.TPQCORRID |
      TPQ.TPQPRIORITY |
      TPQ.TPQREPLYQ |
      TPQ.TPQFAILUREQ |
      TPQ.TPQDELIVERYQOS |
      TPQ.TPQREPLYQOS;
    await putId(ctx, from, null, { urcode: -5 });
    await putId(ctx, from, 'text\nof two lines, ä', {
      flags: all,
      corrid: 'order 17',
      priority: 7,
      replyqueue: 'R',
      failurequeue: 'F',
      delivery_qos: 4,
      reply_qos: 2,
      urcode: 12,
    });
    await putId(ctx, from, typed('STRING', '', Buffer.from([0xff, 0, 1])), {
      flags: TPQ.TPQCORRID,
      corrid: Buffer.alloc(32, 0xee),
    });
    await putId(ctx, from, typed('FML32', 'sub', Buffer.from([0x80, 1])), {
      flags: TPQ.TPQPRIORITY,
      priority: 99,
    });
    await putId(ctx, from, typed('JSON', '', Buffer.from('{"a": 1e0}')));
    const exported = await exporting(from, file, '--json');
    expect(exported).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(exported.stdout)).toEqual({ file, exported: 5, left: 0, delayed: 0, locked: 0 });
    expect((await daemon.queue(from)).messages).toBe(0);
    expect(await importing(to, file)).toEqual({
      code: 0,
      stdout: `${file}: 5 messages imported\n`,
      stderr: '',
    });
    const found: object[] = [];
    for (let n = 0; n < 5; n++) {
      const ctl = new TPQCTL({ flags: OUTPUTS | TPQ.TPQDELIVERYQOS | TPQ.TPQREPLYQOS });
      const { data, type, subtype } = await ctx.tpdequeue(SPACE, to, ctl, null, 0, { raw: true });
      const has = (bit: number): boolean => (ctl.flags & bit) !== 0;
      found.push({
        type,
        subtype,
        data: data === null ? null : Buffer.from(data as Uint8Array).toString('latin1'),
        urcode: ctl.urcode,
        ...(has(TPQ.TPQCORRID)
          ? {
              corrid: Buffer.from(ctl.corrid as Uint8Array)
                .toString('latin1')
                .replace(/\0+$/, ''),
            }
          : {}),
        ...(has(TPQ.TPQPRIORITY) ? { priority: ctl.priority } : {}),
        ...(has(TPQ.TPQREPLYQ) ? { reply: ctl.replyqueue, failure: ctl.failurequeue } : {}),
        ...(has(TPQ.TPQDELIVERYQOS) ? { qos: [ctl.delivery_qos, ctl.reply_qos] } : {}),
      });
    }
    expect(found).toEqual([
      { type: 'FML32', subtype: 'sub', data: '\x80\x01', urcode: 0, priority: 99 },
      { type: '', subtype: '', data: null, urcode: -5 },
      { type: 'STRING', subtype: '', data: '\xff\0\x01', urcode: 0, corrid: '\xee'.repeat(32) },
      { type: 'JSON', subtype: '', data: '{"a": 1e0}', urcode: 0 },
      {
        type: 'STRING',
        subtype: '',
        data: Buffer.from('text\nof two lines, ä').toString('latin1'),
        urcode: 12,
        corrid: 'order 17',
        priority: 7,
        reply: 'R',
        failure: 'F',
        qos: [4, 2],
      },
    ]);
  });

  it('say what is left: not available yet, or held', async () => {
    const [queue, file] = [QUEUES.next(), join(tempDir(), 'file')];
    const ctx = await daemon.join();
    await put(ctx, queue, 'held', 'free', 'and another');
    await ctx.tpenqueue(SPACE, queue, ctlOf(TPQ.TPQTIME_REL, { deq_time: 1000 }), 'later');
    await ctx.tpbegin(60);
    await take(ctx, queue);
    expect((await exporting(queue, file, '--limit', '1')).stdout).toContain('file: 1 messages; 3 are left');
    expect(await exporting(queue, file)).toEqual({
      code: 0,
      stdout: `${file}: 1 messages; 2 are left: 1 not available yet, 1 held by open transactions\n`,
      stderr: '',
    });
    await ctx.tpabort();
    expect(await drain(ctx, 'ERR')).toEqual(['held']);
    expect(textsOf(file)).toEqual(['free', 'and another']);
  });

  it(
    'a consumer beside it: each message in the file, or at the consumer, and never in both',
    { timeout: 120_000 },
    async () => {
      const [queue, file] = [QUEUES.next(), join(tempDir(), 'file')];
      await fill(queue, numbered(200));
      const beside = program(daemon.address, ...exportWords(queue, file));
      await eventually(() => existsSync(file) && statSync(file).size > 2000, 60_000);
      const ctx = await daemon.join();
      const taken: unknown[] = await drain(ctx, queue);
      expect((await beside.exit).code).toBe(0);
      taken.push(...(await drain(ctx, queue)));
      const written = textsOf(file);
      expect(taken.length).toBeGreaterThan(0);
      expect(new Set([...written, ...taken])).toEqual(new Set(numbered(200)));
      expect(written.length + taken.length).toBe(200);
    },
  );
});

describe('an export that was killed', () => {
  it(
    'at any moment: the next ones go on, each message is in the file once, none was counted as an attempt',
    { timeout: 180_000 },
    async () => {
      const [queue, file] = [QUEUES.next(), join(tempDir(), 'file')];
      await fill(queue, numbered(150));
      for (const size of [200, 3001, 9002]) {
        await killed(
          program(daemon.address, ...exportWords(queue, file)),
          () => existsSync(file) && statSync(file).size >= size,
        );
      }
      expect((await exporting(queue, file)).code).toBe(0);
      expect(textsOf(file)).toEqual(numbered(150));
      expect((await daemon.queue(queue)).messages).toBe(0);
      // RETRIES=0: a message that had been rolled back once would be here.
      expect((await daemon.queue('ERR')).messages).toBe(0);
    },
  );

  it('between a line and its message: the message goes, without a second line; half a line is taken off', async () => {
    const [queue, file] = [QUEUES.next(), join(tempDir(), 'file')];
    const ctx = await daemon.join();
    const msgid = Buffer.from(await putId(ctx, queue, 'first')).toString();
    const head = JSON.stringify({ 'tmqueue-export': 1, qspace: SPACE, queue });
    writeFileSync(
      file,
      `${head}\n${JSON.stringify({ msgid, type: 'STRING', text: 'first' })}\n{"msgid":"cut o`,
    );
    await put(ctx, queue, 'second');
    expect((await exporting(queue, file)).code).toBe(0);
    expect(textsOf(file)).toEqual(['first', 'second']);
    expect((await daemon.queue(queue)).messages).toBe(0);
  });
});

describe('export is refused', () => {
  it.each([
    [
      'onto a file that is none of its own',
      'something else\n',
      64,
      'exists, and is no export; legal: another name',
    ],
    [
      'onto that of another queue',
      '{"tmqueue-export":1,"qspace":"QSPACE","queue":"OTHER"}\n',
      64,
      'is an export of QSPACE OTHER',
    ],
  ])('%s, which stays as it is', async (_name, text, code, message) => {
    const file = join(tempDir(), 'file');
    writeFileSync(file, text);
    const exit = await exporting(QUEUES.names[0] ?? '', file);
    expect([exit.code, exit.stderr]).toEqual([code, expect.stringContaining(message)]);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('of no queue, and makes no file', async () => {
    const file = join(tempDir(), 'file');
    const exit = await exporting('NONE', file);
    expect([exit.code, exit.stderr, existsSync(file)]).toEqual([
      1,
      expect.stringContaining('QMEBADQUEUE'),
      false,
    ]);
  });
});

/** A file with these lines behind the head. */
function fileOf(lines: readonly (object | string)[]): string {
  const file = join(tempDir(), 'file');
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
  writeFileSync(file, `{"tmqueue-export":1,"qspace":"A","queue":"B"}\n${text}\n`);
  return file;
}
const message = (n: number): object => ({
  msgid: String(n).padStart(32, '0'),
  type: 'STRING',
  text: `message ${n}`,
});
const messages = (count: number): object[] => Array.from({ length: count }, (_, n) => message(n));

describe('import', () => {
  it('checks every line before it puts one, and names file, line and member', async () => {
    const file = fileOf([message(1), '{"priority":101}', '', 'x']);
    appendFileSync(file, '{"text":"cut');
    const exit = await importing(QUEUES.names[0] ?? '', file);
    expect([exit.code, exit.stdout]).toEqual([1, '']);
    expect(exit.stderr.split('\n')).toEqual([
      `${file}:3: priority: 101 is not legal; legal: a whole number 1..100`,
      expect.stringContaining(`${file}:5: no JSON: `),
      expect.stringMatching(
        /:6: no JSON: .*; the file ends in the middle of this line: was its export ended early\?$/,
      ),
      'tmqueue: nothing was put: 3 lines are wrong',
      '',
    ]);
    expect(existsSync(`${file}.import`)).toBe(false);
  });

  it('--dry-run asks no daemon and puts nothing; what stands twice counts once', async () => {
    const file = fileOf([
      message(1),
      message(2),
      message(1),
      { type: 'STRING', text: 'no id' },
      { type: 'STRING', text: 'no id' },
    ]);
    expect(await run('//127.0.0.1:1', 'import', SPACE, 'Q', file, '--dry-run')).toEqual({
      code: 0,
      stdout: `${file}: 4 messages, 1 lines stand there twice and count once; nothing was put\n`,
      stderr: '',
    });
    const queue = QUEUES.next();
    const put4 = await importing(queue, file, '--json');
    expect(JSON.parse(put4.stdout)).toEqual({ file, imported: 4, before: 0, doubles: 1 });
    expect(await drain(await daemon.join(), queue)).toEqual(['message 1', 'message 2', 'no id', 'no id']);
  });

  it(
    'that was killed, at any moment: the next ones go on, each message is put once and in order',
    { timeout: 180_000 },
    async () => {
      const queue = QUEUES.next();
      const file = fileOf(messages(500));
      const state = `${file}.import`;
      const stepsOf = (): number =>
        existsSync(state) ? readFileSync(state, 'utf8').split('\n').length - 1 : 0;
      for (const steps of [1, 2, 4])
        await killed(program(daemon.address, 'import', SPACE, queue, file), () => stepsOf() >= steps);
      expect((await importing(queue, file)).code).toBe(0);
      expect((await importing(queue, file)).stdout).toBe(
        `${file}: 0 messages imported, 500 had been before\n`,
      );
      expect(await drain(await daemon.join(), queue)).toEqual(numbered(500));
      // It may have grown since: the new lines are put.
      appendFileSync(file, `${JSON.stringify(message(500))}\n${JSON.stringify(message(3))}\n`);
      expect((await importing(queue, file)).stdout).toContain(
        '1 messages imported, 500 had been before, 1 lines',
      );
      expect(await drain(await daemon.join(), queue)).toEqual(['message 500']);
    },
  );

  it('after a kill between noting a transaction and its commit, and after one behind it', async () => {
    const queue = QUEUES.next();
    const file = fileOf(messages(3));
    const ctx = await daemon.join();
    const state = `${file}.import`;
    expect((await importing(queue, file)).code).toBe(0);
    const [head, step] = readFileSync(state, 'utf8').split('\n');
    // As if the program had been killed before it knew of the commit.
    expect((await importing(queue, file)).stdout).toContain('0 messages imported, 3 had been before');
    await drain(ctx, queue);
    await ctx.tpbegin(60);
    const tx = ctx.transactionId;
    await ctx.tpabort();
    writeFileSync(state, `${head}\n${step?.replace(/"tx":"\w+"/, `"tx":"${tx}"`)}\n`);
    expect((await importing(queue, file)).stdout).toContain('3 messages imported\n');
    expect(await drain(ctx, queue)).toHaveLength(3);
  });

  it(
    'refuses a state that is of something else, and a transaction that nobody knows',
    { timeout: 120_000 },
    async () => {
      const [queue, other] = [QUEUES.next(), QUEUES.next()];
      const file = fileOf(messages(3));
      const state = `${file}.import`;
      expect((await importing(queue, file)).code).toBe(0);
      const elsewhere = await importing(other, file);
      expect([elsewhere.code, elsewhere.stderr]).toEqual([
        64,
        expect.stringContaining(`is of an import into QSPACE ${queue}`),
      ]);
      const changed = fileOf(messages(4).slice(1));
      const second = await importing(queue, changed, '--state', state);
      expect([second.code, second.stderr]).toEqual([64, expect.stringContaining('is of another file than')]);
      const anew = await daemonForTest({ spaces: [{ queues: [queue] }] });
      const third = await run(anew.address, 'import', SPACE, queue, file);
      expect([third.code, third.stderr]).toEqual([
        64,
        expect.stringContaining('of another queue space of the name QSPACE'),
      ]);
      expect((await anew.queue(queue)).messages).toBe(0);
      const [head, step] = readFileSync(state, 'utf8').split('\n');
      writeFileSync(state, 'nothing\n');
      expect((await importing(queue, file)).stderr).toContain('exists, and is no state of an import');
      // Of a daemon's start long ago.
      writeFileSync(state, `${head}\n${step?.replace(/"tx":"\w+"/, `"tx":"${'0'.repeat(23)}1"`)}\n`);
      const assumed = await importing(queue, file, '--assume', 'committed');
      expect(assumed.stdout).toContain('0 messages imported, 3 had been before');
      expect((await importing(queue, file, '--assume', 'rolled-back')).stdout).toContain(
        '3 messages imported\n',
      );
      rmSync(state);
      expect((await importing(queue, file)).stdout).toContain('3 messages imported\n');
      expect(await drain(await daemon.join(), queue)).toHaveLength(9);
    },
  );

  it('names the line of a message that the daemon refuses; what was put stays put', async () => {
    const queue = QUEUES.next();
    const file = fileOf([
      ...messages(100),
      { type: 'STRING', text: 'x'.repeat(100), delivery_qos: 'nonpersist' },
      { type: 'CARRAY', base64: Buffer.alloc(2_000_000).toString('base64'), delivery_qos: 'nonpersist' },
    ]);
    const exit = await importing(queue, file);
    expect(exit.code).toBe(1);
    expect(exit.stderr).toContain(`${file}:103: this message could not be put; 100 are on the queue`);
    expect(exit.stderr).toContain('QMENOSPACE');
    expect((await daemon.queue(queue)).messages).toBe(100);
  });
});

it(
  'the daemon killed under an import, and under an export: nothing lost, nothing doubled',
  { timeout: 240_000 },
  async () => {
    const { dir, config } = folderWith(ubbText({ spaces: [{ queues: ['FROM', 'TO'] }] }));
    const file = fileOf(messages(600));
    const state = `${file}.import`;
    const stepsOf = (): number =>
      existsSync(state) ? readFileSync(state, 'utf8').split('\n').length - 1 : 0;
    const up = (): ReturnType<typeof startCli> => startCli(config, '--listen', '127.0.0.1:0');
    const first = await up();
    const importer = program(addressOf(first), 'import', SPACE, 'FROM', file);
    await eventually(() => stepsOf() >= 3, 60_000);
    await first.kill();
    expect([0, 1, 69]).toContain((await importer.exit).code);
    const out = join(dir, 'out');
    let last = await up();
    expect((await run(addressOf(last), 'import', SPACE, 'FROM', file)).code).toBe(0);
    const exporter = program(addressOf(last), ...exportWords('FROM', out));
    await eventually(() => existsSync(out) && statSync(out).size > 5000, 60_000);
    await last.kill();
    expect((await exporter.exit).code).not.toBe(0);
    last = await up();
    expect((await run(addressOf(last), 'export', SPACE, 'FROM', '--drain', '-o', out)).code).toBe(0);
    expect(textsOf(out)).toEqual(numbered(600));
    const ctx: Context = await tpinit({ address: addressOf(last) });
    onTestFinished(() => ctx.tpterm());
    expect((await ctx.stat()).spaces[0]?.messages).toBe(0);
  },
);

// The configuration read again by a running daemon (RELOAD, `tmqueue reload`) [DESIGN 11]: what it changes, what it refuses with the place in the
// file, that a refusal changes nothing at all, and that messages under way are done first.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ReloadAnswer, tpinit } from '../../clients/typescript/index.ts';
import { ADMIN, OP, QME, TPERRNO } from '../../proto/codes.ts';
import { packValue } from '../../proto/codec.ts';
import { daemonForTest, eventually, type InProcess, pause } from '../support/in-process.ts';
import { Raw } from '../support/raw-client.ts';
import { type DomainText, type SpaceText, ubbText } from '../support/ubb-text.ts';
import { CliProcess, folderWith, startCli } from './cli-process.ts';
import { codeOf, drain, failureOf, Gate, put, take } from './helpers.ts';

const mapOf = (members: object): Raw => new Raw(Buffer.from(packValue(members)));
const FILE = { file: '', line: 0, column: 0 };
const changed = (text: string): object => ({ kind: 'changed', text, ...FILE });
const note = (text: string): object => ({ kind: 'note', text, ...FILE });
const textsOf = ({ items }: ReloadAnswer): string[] => items.map(({ text }) => text);
/** `line:column: text` of each fault. */
const faultsOf = ({ items }: ReloadAnswer): string[] =>
  items.map(
    ({ kind, line, column, text }) => `${kind === 'fault' ? '' : `${kind} `}${line}:${column}: ${text}`,
  );

async function reloaded(daemon: InProcess, text: DomainText | string): Promise<ReloadAnswer> {
  daemon.rewrite(text);
  return (await daemon.join()).reload();
}

/** One space, QSPACE, and more of what a domain has. */
const one = (space: SpaceText, more: DomainText = {}): DomainText => ({ ...more, spaces: [space] });

describe('queues', () => {
  it('new ones are created, changed ones changed, those that are gone stay', async () => {
    const daemon = await daemonForTest(one({ queues: ['KEPT', 'GONE'], errorQueue: 'KEPT' }));
    const ctx = await daemon.join();
    await put(ctx, 'GONE', 'still here');
    await ctx.admin('QSPACE').pause('KEPT', { dequeue: true });
    const answer = await reloaded(
      daemon,
      one({
        queues: [
          { name: 'KEPT', retries: 5, more: 'EXPIRY=60' },
          { name: 'NEW', more: 'ORDER=lifo' },
        ],
        errorQueue: 'NEW',
      }),
    );
    expect(answer).toEqual({
      outcome: 'applied',
      unlisted: 0,
      items: [
        changed('queue space QSPACE changed: errorQueue KEPT → NEW'),
        changed('queue KEPT of QSPACE changed: retries 0 → 5, expiryS -1 → 60'),
        changed('queue NEW of QSPACE created'),
        note('QSPACE: queue GONE is no longer in the configuration; it stays, with its messages'),
      ],
    });
    const admin = ctx.admin('QSPACE');
    expect(await admin.info('NEW')).toMatchObject({ order: 'lifo' });
    // What an administrator has paused stays so: the file says nothing of it.
    expect(await admin.info('KEPT')).toMatchObject({ retries: 5, expiryS: 60, dequeuePaused: true });
    expect(await drain(ctx, 'GONE')).toEqual(['still here']);
    expect(await ctx.reload()).toMatchObject({ outcome: 'unchanged', items: [{ kind: 'note' }] });
    await daemon.restart();
    // The next start finds everything as the file says: none beside those of the reload and of the pause.
    expect(daemon.lines('info', 'changed:')).toHaveLength(3);
  });

  it('what a queue or its space cannot take is refused, with everything else in the file', async () => {
    const before = one({ queues: ['A', 'B'], more: 'QUEUES=3', forwarders: [{ queues: ['A'] }] });
    const daemon = await daemonForTest(before);
    const ctx = await daemon.join();
    const order = await reloaded(
      daemon,
      one({
        queues: [{ name: 'A', retries: 9 }, { name: 'B', more: 'ORDER=lifo' }, 'C'],
        more: 'QUEUES=3',
        forwarders: [],
      }),
    );
    expect(order.outcome).toBe('refused');
    const text =
      'queue B: ORDER is fixed when a queue is created: it is fifo, the configuration says lifo; legal: ORDER="fifo", or a queue of another name';
    const lines = ubbText(one({ queues: ['A'], more: '', forwarders: [] })).split('\n').length;
    expect(faultsOf(order)).toEqual([`${lines}:1: ${text}`]);
    const many = await reloaded(daemon, one({ queues: ['A', 'B', 'C', 'D'], more: 'QUEUES=3' }));
    expect(textsOf(many)).toEqual([
      'queue C: queue space QSPACE would have 4 queues, with those that are no longer in the file, and may have 3 (QUEUES); legal: QUEUES=4, or fewer queues',
    ]);
    expect(await ctx.admin('QSPACE').info('A')).toMatchObject({ retries: 0 });
    expect((await ctx.admin('QSPACE').list()).queues).toHaveLength(2);
    expect((await ctx.listServers()).servers).toContainEqual(expect.objectContaining({ running: ['100'] }));
    expect(
      await reloaded(
        daemon,
        one({ queues: ['A', 'B', 'C', 'D'], more: 'QUEUES=4', forwarders: [{ queues: ['A'] }] }),
      ),
    ).toMatchObject({
      outcome: 'applied',
    });
  });
});

describe('what cannot change while the daemon runs', () => {
  it('is refused as a list with places, and nothing is changed', async () => {
    const daemon = await daemonForTest(
      one(
        { queues: ['Q'], timeoutS: 30 },
        { listen: ['//127.0.0.1:0'], resources: 'BLOCKTIME 6\nNOTIFY DIPIN' },
      ),
    );
    const text = ubbText({
      maxGtt: 50,
      maxTranTime: 9,
      resources: 'BLOCKTIME 5\nNOTIFY IGNORE',
      listen: ['//127.0.0.1:9'],
      spaces: [{ queues: ['Q', 'NEW'], timeoutS: 31 }, { name: 'OTHER' }],
    }).replace('QM:data1:', 'QM:moved:');
    const answer = await reloaded(daemon, text);
    expect(answer.outcome).toBe('refused');
    const found = faultsOf(answer).map((line) => line.replace(daemon.dir, 'DIR').replace(daemon.dir, 'DIR'));
    const places = text.split('\n');
    const at = (part: string, column: number): string =>
      `${places.findIndex((line) => line.includes(part)) + 1}:${column}:`;
    expect(found).toEqual([
      `${at('WSL', 30)} the addresses of WSL cannot change while the daemon runs; in force: //127.0.0.1:0, the file says //127.0.0.1:9; legal: what is in force, or a restart`,
      `${at('MAXGTT', 8)} MAXGTT cannot change while the daemon runs; in force: 100, the file says 50; legal: what is in force, or a restart`,
      `${at('BLOCKTIME', 11)} BLOCKTIME cannot change while the daemon runs; in force: 60000, the file says 50000; legal: what is in force, or a restart`,
      `${at('MAXTRANTIME', 13)} MAXTRANTIME cannot change while the daemon runs; in force: 0, the file says 9; legal: what is in force, or a restart`,
      `${at('NOTIFY', 8)} NOTIFY cannot change while the daemon runs; in force: DIPIN, the file says IGNORE; legal: what is in force, or a restart`,
      `${at('G1 LMID', 47)} OPENINFO of group G1 cannot change while the daemon runs; in force: QSPACE on DIR/data1, the file says QSPACE on DIR/moved; legal: what is in force, or a restart`,
      `${at('G2 LMID', 47)} queue space OTHER of group G2 is new, and is opened at a start only; legal: a restart`,
      `${at('SRVGRP=G1', 33)} TMQUEUE G1/1 is different: its names and -t are fixed while the daemon runs; legal: a restart`,
      `${at('SRVGRP=G2', 33)} TMQUEUE G2/1 is new: its names and -t are fixed while the daemon runs; legal: a restart`,
    ]);
    expect((await (await daemon.join()).admin('QSPACE').list()).queues).toHaveLength(1);
  });

  it('is refused too when it has gone', async () => {
    const daemon = await daemonForTest({ spaces: [{ queues: ['Q'] }, { name: 'TWO', queues: ['Q'] }] });
    expect(faultsOf(await reloaded(daemon, one({ queues: ['Q'] })))).toEqual([
      '0:0: queue space TWO of group G2 is no longer in the file, and is closed by a restart only; legal: a restart',
      '0:0: TMQUEUE G2/1 is no longer in the file: it is stopped by a restart only; legal: a restart',
    ]);
  });

  it('a file that a start would refuse changes nothing and says why', async () => {
    const daemon = await daemonForTest(one({ queues: ['Q'] }));
    const bad = await reloaded(
      daemon,
      ubbText(one({ queues: ['Q', { name: 'R', retries: -1 }] })).replace('MAXGTT 100', 'MAXGTT many'),
    );
    expect(bad.outcome).toBe('refused');
    expect(bad.items.map(({ line }) => line)).toEqual([5, 19]);
    expect(textsOf(bad)[0]).toContain('MAXGTT: many is not legal');
    const ctx = await daemon.join();
    const gone = await ctx.reload('none');
    expect([gone.outcome, textsOf(gone)]).toEqual(['refused', ['cannot be read: there is no such file']]);
    const elsewhere = await ctx.reload('/etc/passwd');
    expect(textsOf(elsewhere)).toEqual([
      expect.stringContaining('is in another folder than the configuration of the start'),
    ]);
    writeFileSync(join(daemon.dir, 'other'), ubbText(one({ queues: ['Q', 'R'] })));
    expect(await ctx.reload('other')).toMatchObject({
      outcome: 'applied',
      items: [{ text: 'queue R of QSPACE created' }],
    });
  });
});

const withForwarders = (...forwarders: SpaceText['forwarders'] & object): DomainText =>
  one({ queues: ['S', 'T'], forwarders });

describe('forwarders', () => {
  it('a changed one does its message first, a new one begins, one that is gone ends', async () => {
    const daemon = await daemonForTest(withForwarders({ queues: ['S'], timeoutS: 30 }, { queues: ['T'] }));
    const [ctx, server] = [await daemon.join(), await daemon.join()];
    const gate = new Gate();
    for (const name of ['S', 'T']) await server.tpadvertise(name, gate.service, { concurrency: 9 });
    await put(ctx, 'S', 'first', 'second');
    await gate.calls(1);
    daemon.rewrite(withForwarders({ queues: ['S', 'T'], timeoutS: 40 }));
    let answer: ReloadAnswer | null = null;
    const reloading = ctx.reload().then((given) => (answer = given));
    await ctx.stat();
    await pause(20);
    expect([answer, gate.waiting.length]).toEqual([null, 1]);
    gate.release();
    expect(await reloading).toMatchObject({
      outcome: 'applied',
      items: [
        changed('TMQFORWARD G1/200 stopped: it is no longer in the file'),
        changed('TMQFORWARD G1/100 restarted: -q S → S,T, -t 30 → 40'),
      ],
    });
    await gate.calls(1);
    await put(ctx, 'T', 'of the other queue');
    gate.release();
    await gate.calls(1);
    expect(gate.waiting[0]?.call.data).toBe('of the other queue');
    gate.release();
    await eventually(async () => (await daemon.queue('T')).messages === 0);
    // One line of the configuration: its counts go on.
    expect((await ctx.stat()).forwarders).toMatchObject([{ forwarded: 3, failed: 0 }]);
    expect(await codeOf(ctx.startServer(200))).toBe('TPENOENT');
    const again = await reloaded(daemon, withForwarders({ queues: ['S'], timeoutS: 40 }, { queues: ['T'] }));
    expect(textsOf(again)).toContain('TMQFORWARD G1/200 started: it is new in the file');
    await put(ctx, 'T', 'more');
    await gate.calls(1);
    gate.release();
  });

  it('one that was stopped by hand stays so; those that a higher MIN adds begin', async () => {
    const daemon = await daemonForTest(withForwarders({ queues: ['S'], min: 2, max: 5 }));
    const ctx = await daemon.join();
    const running = async (): Promise<readonly string[]> =>
      (await ctx.listServers()).servers.find(({ kind }) => kind === 'tmqforward')?.running ?? [];
    await ctx.stopServer(100);
    await ctx.startServer(104);
    expect(await running()).toEqual(['101', '104']);
    await reloaded(daemon, withForwarders({ queues: ['S'], min: 3, max: 5 }));
    expect(await running()).toEqual(['101', '102', '104']);
    await reloaded(daemon, withForwarders({ queues: ['S'], min: 3, max: 3 }));
    expect(await running()).toEqual(['101', '102']);
  });

  it('a second reload meanwhile is refused; who gives up does not take the first back', async () => {
    const daemon = await daemonForTest(withForwarders({ queues: ['S'] }));
    const [ctx, server, raw] = [await daemon.join(), await daemon.join(), await daemon.raw()];
    const gate = new Gate();
    await server.tpadvertise('S', gate.service);
    await put(ctx, 'S', 'x');
    await gate.calls(1);
    daemon.rewrite(withForwarders({ queues: ['T'] }));
    raw.send(OP.ADMIN, 7, ADMIN.RELOAD, '', '', mapOf({}));
    await eventually(async () => (await failureOf(ctx.reload())).tperrno === TPERRNO.TPEPROTO);
    raw.send(OP.CANCEL, 8, 7);
    expect(await raw.answer(7)).toMatchObject([OP.ERROR, 7, TPERRNO.TPGOTSIG, 0, expect.any(String)]);
    expect(await codeOf(ctx.reload())).toBe('TPEPROTO');
    gate.release();
    await eventually(async () => (await ctx.stat()).forwarders[0]?.queues.includes('T'));
    await eventually(async () => (await codeOf(ctx.reload())) === 'OK');
    await put(ctx, 'S', 'y');
    expect((await take(ctx, 'S')).data).toBe('y');
  });

  it('a daemon that stops meanwhile stops', async () => {
    const daemon = await daemonForTest(withForwarders({ queues: ['S'] }));
    const [ctx, server] = [await daemon.join(), await daemon.join()];
    const gate = new Gate();
    await server.tpadvertise('S', gate.service);
    await put(ctx, 'S', 'x');
    await gate.calls(1);
    daemon.rewrite(withForwarders({ queues: ['T'] }));
    const reloading = codeOf(ctx.reload());
    await eventually(async () => (await ctx.stat()).forwarders[0]?.queues.includes('T'));
    const stopping = daemon.stop();
    gate.release();
    await stopping;
    expect(['OK', 'TPESYSTEM', 'TPETIME']).toContain(await reloading);
    await daemon.start();
    expect(await (await daemon.join()).stat()).toMatchObject({ forwarders: [{ queues: ['T'] }] });
  });
});

const withServices = (...lines: string[]): string =>
  ubbText(one({ queues: ['Q'] }, { services: lines })).replace(
    '*SERVICES',
    'appserver SRVGRP=APP SRVID=7\n*SERVICES',
  );

describe('services and servers', () => {
  it('their lines count at once, also for what is offered already', async () => {
    const daemon = await daemonForTest(withServices('S BUFTYPE="ALL"'));
    const [ctx, server] = [await daemon.join(), await daemon.join()];
    await server.tpadvertise('S', () => 'answer');
    expect((await ctx.tpcall('S', 'text')).data).toBe('answer');
    const answer = await reloaded(
      daemon,
      withServices('S BUFTYPE="CARRAY"', 'NEW PRIO=7').replace('SRVID=7', 'SRVID=8'),
    );
    expect(textsOf(answer)).toEqual([
      'service S: its line in *SERVICES',
      'service NEW: its line in *SERVICES',
      'server appserver APP/8: its line in *SERVERS',
      'server appserver APP/7 is no longer in the file',
    ]);
    expect(await codeOf(ctx.tpcall('S', 'text'))).toBe('TPEITYPE');
    expect((await ctx.tpcall('S', Buffer.from('bytes'))).data).toBe('answer');
  });
});

it.each([
  ['a queue space', ['QSPACE', '', {}], TPERRNO.TPEINVAL, QME.OK, 'neither a queue space nor a queue'],
  [
    'a member',
    ['', '', { srvid: 1 }],
    TPERRNO.TPEDIAGNOSTIC,
    QME.QMEINVAL,
    'srvid is no member of this verb; legal: file',
  ],
  [
    'a file that is none',
    ['', '', { file: '' }],
    TPERRNO.TPEDIAGNOSTIC,
    QME.QMEINVAL,
    'file: "" is not legal',
  ],
] as const)('refused: %s', async (_name, [qspace, qname, members], tperrno, diagnostic, text) => {
  const daemon = await daemonForTest(one({ queues: ['Q'] }));
  const raw = await daemon.raw();
  const answer = await raw.ask(OP.ADMIN, 7, ADMIN.RELOAD, qspace, qname, mapOf(members));
  expect(answer).toMatchObject([OP.ERROR, 7, tperrno, diagnostic, expect.stringContaining(text)]);
});

it(
  '`tmqueue reload`: what it prints, its exit codes, and a kill -9 right after it',
  { timeout: 180_000 },
  async () => {
    const { config } = folderWith(ubbText(one({ queues: ['Q'] })));
    const daemon = await startCli(config, '--listen', '127.0.0.1:0');
    const run = (...args: string[]): CliProcess['exit'] =>
      new CliProcess(['reload', '--connect', `//127.0.0.1:${daemon.port}`, ...args]).exit;
    writeFileSync(config, ubbText(one({ queues: ['Q', 'R'] })));
    expect(await run()).toEqual({ code: 0, stdout: 'queue R of QSPACE created\n', stderr: '' });
    expect(await run()).toEqual({ code: 0, stdout: 'nothing to change\n', stderr: '' });
    writeFileSync(config, ubbText(one({ queues: [{ name: 'Q', more: 'ORDER=lifo' }, 'S'] })));
    const refused = await run('-c', config);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(
      /^\S*ubbconfig:18:1: queue Q: ORDER is fixed .*\ntmqueue: not reloaded: nothing has changed\n$/,
    );
    const json = await run('--json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      outcome: 'refused',
      items: [{ kind: 'fault', line: 18, column: 1 }],
    });
    writeFileSync(config, ubbText(one({ queues: [{ name: 'Q', retries: 4 }, 'R', 'S'] })));
    expect((await run()).code).toBe(0);
    await daemon.kill();
    const next = await startCli(config, '--listen', '127.0.0.1:0');
    const ctx = await tpinit({ address: `//127.0.0.1:${next.port}` });
    onTestFinished(() => ctx.tpterm());
    expect(await ctx.admin('QSPACE').info('Q')).toMatchObject({ retries: 4 });
    expect((await ctx.admin('QSPACE').list()).queues.map(({ name }) => name)).toEqual(['Q', 'R', 'S']);
  },
);

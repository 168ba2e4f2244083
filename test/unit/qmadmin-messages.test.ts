// The commands of qmadmin about messages and transactions, from scripts on a device of its own: what is selected, shown, changed, and refused.
import { describe, expect, it } from 'vitest';
import { TPQ } from '../../proto/codes.ts';
import { SystemClock } from '../../src/boot/system-clock.ts';
import { openSpace } from '../../src/engine/open-space.ts';
import type { SpaceEngine } from '../../src/engine/space-engine.ts';
import { openTlog } from '../../src/engine/tlog.ts';
import { bodyLines } from '../../src/qmadmin/body.ts';
import { momentText, parseExpiryMoment, parseMoment, parseMoments } from '../../src/qmadmin/times.ts';
import type { EnqueueTerms } from '../../src/queue/command.ts';
import type { MessageProperties } from '../../src/queue/message.ts';
import { nodeFileIo } from '../../src/wal/local/file-io.ts';
import { openLocalLog } from '../../src/wal/local/local-log.ts';
import { PageCache } from '../../src/wal/local/page-cache.ts';
import { tlogDirectoryName } from '../../src/wal/local/segment.ts';
import type { LineSource } from '../../src/qmadmin/lines.ts';
import { localDevice, runLines, runScript, type Ran } from '../support/qmadmin.ts';
import { corrid, properties } from '../support/queue-values.ts';
import { tempDir } from '../support/temp-dir.ts';

const SPACE = 'qspc SP 230458 1000 4 5 5 500 ERR y 16';
const QUEUES = ['qopen SP', 'qcr Q priority,fifo none 3 0 100% 0 ""', 'qcr OTHER fifo none 0 0 100% 0 ""'];
const silent = { info: () => {}, warn: () => {}, error: () => {} };
const clock = new SystemClock();

interface Place {
  readonly path: string;
  readonly run: (...script: string[]) => Promise<Ran>;
  /** qopen SP and qset Q first. */
  readonly onQ: (...script: string[]) => Promise<Ran>;
  readonly json: (...script: string[]) => Promise<unknown[]>;
  /** What a program does to the space while no qmadmin has it. */
  readonly work: <T>(what: (engine: SpaceEngine) => T) => Promise<T>;
}

function logIn(dir: string) {
  const pages = new PageCache(1);
  return openLocalLog({ dir, clock, ulog: silent, io: nodeFileIo, pages, segmentBytes: 64 * 1024 });
}

async function place(): Promise<Place> {
  const path = `${tempDir()}/dev`;
  const run = (...script: string[]): Promise<Ran> => runScript(script, localDevice(path));
  const onQ = (...script: string[]): Promise<Ran> => run('qopen SP', 'qset Q', ...script);
  expect(await run(`crdl ${path} 0 2000`, SPACE, ...QUEUES)).toMatchObject({ err: [], failures: 0 });
  return {
    path,
    run,
    onQ,
    json: async (...script) => {
      const ran = await runScript(['qopen SP', 'qset Q', ...script], localDevice(path), { json: true });
      expect(ran.err).toEqual([]);
      return ran.out.map((line): unknown => JSON.parse(line));
    },
    work: async (what) => {
      const ports = { clock, ulog: silent, soon: setImmediate, runCommand: () => {} };
      const engine = await openSpace(await logIn(`${path}/SP`), new AbortController().signal, ports);
      const done = what(engine);
      await engine.close();
      return done;
    },
  };
}

interface Given {
  readonly props?: Partial<MessageProperties>;
  readonly terms?: Partial<EnqueueTerms>;
  readonly qname?: string;
}
function put(
  engine: SpaceEngine,
  data: string | Uint8Array,
  { props = {}, terms, qname = 'Q' }: Given = {},
): void {
  const none = { availability: null, expiry: null, position: null };
  const { code } = engine.enqueue({
    qname,
    properties: properties(props),
    terms: terms === undefined ? null : { ...none, ...terms },
    data: Buffer.from(data),
    work: null,
  });
  expect(code).toBe(0);
}
const inS = (seconds: number) => ({ clock: 0 as const, seconds });
const rows = ({ out }: Ran): string[][] => out.map((line) => line.split(/ +/));
const errorOf = ({ err }: Ran): string => (err[0] ?? '').replace(/^qmadmin: line \d+: /, '');

describe('qset and qscan', () => {
  it('need an open space and a queue of it, and are for that space alone', async () => {
    const { run } = await place();
    expect(errorOf(await run('qset Q'))).toBe('qset: no queue space is open; first: qopen SPACE');
    expect(errorOf(await run('qopen SP', 'qlist'))).toBe('qlist: no queue is set; first: qset QUEUE');
    expect(errorOf(await run('qopen SP', 'qset NONE'))).toBe('qset: queue space SP has no queue NONE');
    expect(errorOf(await run('qopen SP', 'qset Q', 'qclose', 'qopen SP', 'qlist'))).toMatch(
      /no queue is set/,
    );
  });

  it('shows its criteria, sets all of them anew, and clears them', async () => {
    const { onQ } = await place();
    const id = '0123456789abcdef'.repeat(2);
    const { out, err } = await onQ(
      'qscan',
      `qscan -t 260101-+60 -p 10-20 -m ${id} -i 0x00ff -d nonpersist -e none`,
      'qsc',
      'qscan -i "a b" -p 7',
      'qscan',
      'qscan none',
      'qscan',
    );
    expect(err).toEqual([]);
    const any = [
      'queue: Q',
      'time: any',
      'priority: any',
      'msgid: any',
      'corrid: any',
      'qos: any',
      'expiry: any',
    ];
    expect(out).toEqual([
      ...any,
      'queue: Q',
      'time: 2026-01-01T00:00:00-+60',
      'priority: 10-20',
      `msgid: ${id}`,
      `corrid: 0x00ff${'00'.repeat(30)}`,
      'qos: NONPERSIST',
      'expiry: none',
      'queue: Q',
      'time: any',
      'priority: 7-7',
      'msgid: any',
      'corrid: a b',
      'qos: any',
      'expiry: any',
      ...any,
    ]);
  });

  it.each([
    ['qscan -p 0', 'qscan: -p 0 is not legal; legal: prio1[-prio2], each 1..100, the lower one first'],
    ['qscan -p 9-3', 'qscan: -p 9-3 is not legal'],
    ['qscan -m abc', 'qscan: -m abc is not legal; legal: a msgid as qlist shows it'],
    ['qscan -t 45', 'qscan: -t 45 is not legal; legal: time1[-time2], each +seconds, or YY'],
    ['qscan -d both', 'qscan: -d both is not legal; legal: persist or nonpersist'],
    [`qscan -i ${'x'.repeat(33)}`, 'is not legal; legal: 1..32 bytes as text'],
    ['qscan -p 5 none', 'qscan: none clears the criteria: it stands alone'],
    ['qscan all', 'qscan: none: all is not legal; legal: none, or options'],
  ])('refuses %s', async (line, problem) => {
    const { onQ } = await place();
    expect(errorOf(await onQ(line))).toContain(problem);
  });

  it('a msgid of another space is refused where it is used', async () => {
    const { onQ } = await place();
    expect(errorOf(await onQ(`qscan -m ${'ab'.repeat(16)}`, 'qlist'))).toBe(
      'qlist: the msgid of qscan is none of queue space SP',
    );
  });
});

describe('qlist', () => {
  it('has one header line and a row a message in the order of the queue; verbose adds the corrid', async () => {
    const { work, onQ } = await place();
    await work((engine) => {
      put(engine, 'abc', {
        props: { corrid: corrid(1), replyQos: 4, flags: TPQ.TPQCORRID | TPQ.TPQREPLYQOS },
      });
      put(engine, 'first', { props: { priority: 90 } });
      put(engine, 'later', { terms: { availability: inS(500), expiry: inS(900) } });
    });
    const short = await onQ('qlist');
    expect(rows(short).map((row) => row.slice(1))).toEqual([
      ['PRIO', 'RETRIES', 'LENGTH', 'QOS', 'REPLYQOS', 'EXPIRES', 'AVAILABLE', 'STATE'],
      ['90', '0', '5', 'PERSIST', 'DEFAULT', '-', '-', 'ready'],
      ['50', '0', '3', 'PERSIST', 'NONPERSIST', '-', '-', 'ready'],
      [
        '50',
        '0',
        '5',
        'PERSIST',
        'DEFAULT',
        expect.stringMatching(/^20\d\d-.*T/),
        expect.stringMatching(/^20/),
        'delayed',
      ],
    ]);
    const long = await onQ('verbose', 'qscan -i "corrid 1"', 'ql');
    expect(rows(long).map((row) => row.slice(8))).toEqual([
      ['STATE', 'ORIGIN', 'REASON', 'CODE', 'MOVED', 'MOVES', 'CORRID'],
      ['ready', '-', '-', '-', '-', '0', '"corrid', '1"'],
    ]);
    const none = await onQ(
      'qscan -p 1',
      'qlist',
      'qdltm',
      'qcp 5',
      'qcq OTHER',
      'qct +1',
      'qcet none',
      'qpeek',
    );
    expect(none).toMatchObject({ failures: 0, err: [] });
    expect(none.out).toEqual(
      [1401, 1410, 1407, 1407, 1407, 1407, 1401].map((n) => `no message of queue Q is selected (${n})`),
    );
  });

  it('--json has an object a row, for every listing', async () => {
    const { work, json, path } = await place();
    await work((engine) => put(engine, 'abc', { props: { corrid: corrid(1), priority: 7 } }));
    expect(
      await json(
        'qlist',
        'qpeek',
        'qpeek -x',
        'lidl',
        'qinfo Q',
        'qprinttrans',
        'qspl',
        'qscan',
        'help qlist',
      ),
    ).toMatchObject([
      {
        priority: 7,
        retries: 0,
        length: 3,
        qos: 'PERSIST',
        expires: null,
        available: null,
        corrid: 'corrid 1',
      },
      { type: 'STRING', data: 'abc', truncated: false },
      { hex: '616263' },
      { index: 0, device: path, offset: 0, pages: 2000 },
      { queue: 'Q', persistentMessages: 1, pages: 1 },
      { name: 'SP', pages: 1000, errorq: 'ERR' },
      { queue: 'Q', priority: null },
      { name: 'qlist' },
    ]);
    expect(await json('qdltm')).toEqual([{ changed: 1, held: 0 }]);
  });
});

describe('changes', () => {
  it('are made to the selected messages and are there after a restart', async () => {
    const { work, onQ } = await place();
    await work((engine) => {
      for (let i = 1; i <= 4; i++) put(engine, `m${i}`, { props: { priority: 10 * i } });
    });
    const ran = await onQ(
      'qscan -p 10-20',
      'qcp -y 99',
      'qscan -p 30',
      'qcq OTHER',
      'qscan -p 40',
      'qct +100',
      'qcet +200',
      'qcp',
      '41',
    );
    expect([ran.out, ran.err]).toEqual([
      [
        '2 messages changed',
        '1 message moved to queue OTHER',
        '1 message changed',
        '1 message changed',
        '1 message changed',
      ],
      [],
    ]);
    const { out } = await onQ(
      'qlist',
      'qset OTHER',
      'qpeek',
      'qdeletemsg -y',
      'qset Q',
      'qcet none',
      'qlist',
      'qcet +0',
      'qlist',
    );
    expect(out.map((line) => line.split(/ +/).slice(1).join(' '))).toEqual([
      'PRIO RETRIES LENGTH QOS REPLYQOS EXPIRES AVAILABLE STATE',
      '99 0 2 PERSIST DEFAULT - - ready',
      '99 0 2 PERSIST DEFAULT - - ready',
      expect.stringMatching(/^41 0 2 PERSIST DEFAULT 20\S+ 20\S+ delayed$/),
      'STRING, 2 bytes, priority 30',
      'm3',
      'message deleted',
      'messages changed',
      'PRIO RETRIES LENGTH QOS REPLYQOS EXPIRES AVAILABLE STATE',
      '99 0 2 PERSIST DEFAULT - - ready',
      '99 0 2 PERSIST DEFAULT - - ready',
      expect.stringMatching(/^41 0 2 PERSIST DEFAULT - 20\S+ delayed$/),
      'messages changed',
      'message of queue Q is selected (1401)',
    ]);
  });

  it('to the same queue only warn; to none are refused', async () => {
    const { work, onQ } = await place();
    await work((engine) => put(engine, 'stays'));
    const ran = await onQ('qchangequeue Q', 'qcq NONE', 'qcp 101', 'qct 38', 'qcet x');
    expect(ran.err.map((line) => line.replace(/^qmadmin: (?:line \d+: )?/, ''))).toEqual([
      'qchangequeue: warning: queue Q is where the messages are; nothing was done',
      'qchangequeue: queue space SP has no queue NONE',
      'qchangeprio: new priority: 101 is not legal; legal: a whole number, 1..100',
      expect.stringContaining('qchangetime: new time: 38 is not legal; legal: +seconds'),
      expect.stringContaining('qchangeexptime: new expiration time: x is not legal; legal: none, +seconds'),
    ]);
    expect(ran.failures).toBe(4);
  });

  it('leave and count what prepared transactions hold, which qlist shows', async () => {
    const { work, onQ } = await place();
    await work((engine) => {
      put(engine, 'held', { props: { priority: 80 } });
      put(engine, 'free');
      prepare(engine, 'Q');
    });
    const { out } = await onQ('qlist', 'qdltm', 'qlist');
    expect(out[2]).toMatch(/held$/);
    expect(out[3]).toBe('1 message deleted; 1 held by a transaction, left');
    expect(out).toHaveLength(6);
  });
});

const TLOG = 'abcdef0123456789'.repeat(2);
/** Takes the first message of the queue in a transaction that is prepared. */
function prepare(engine: SpaceEngine, qname: string, serial = 1): void {
  const work = engine.openWork();
  const { space } = engine;
  const queue = space.queue(qname);
  if (queue === undefined) throw new Error('there is no queue');
  engine.run({ kind: 'take', entry: space.firstReady(queue), branch: work.branch.number });
  engine.prepared.promise(work);
  engine.prepared.prepare(work, { transaction: { start: 7, serial }, tlog: TLOG });
}

describe('transactions', () => {
  it('are listed, committed and rolled back by the index of the listing', async () => {
    const { work, onQ, json } = await place();
    await work((engine) => {
      for (const text of ['one', 'two', 'three']) put(engine, text);
      for (let serial = 1; serial <= 2; serial++) prepare(engine, 'Q', serial);
    });
    const listed = rows(await onQ('qprinttrans'));
    expect(listed.map((row) => row.at(-1))).toEqual(['STATE', 'READY', 'READY']);
    const [first = '', second = ''] = listed.slice(1).map((row) => row.find((cell) => /^\d+$/.test(cell)));
    const ran = await onQ(
      `qcommit -y ${first}`,
      `qrollbacktrans ${second}`,
      `qabort ${first}`,
      'qpt',
      'qpeek',
      'verbose',
      'qpt',
    );
    expect(errorOf(ran)).toBe(
      `qaborttrans: there is no prepared transaction ${first}; qprinttrans lists them`,
    );
    expect(ran.out.filter((line) => line.startsWith('  '))).toEqual(['  two', '  three']);
    const decided = await json('verbose', 'qpt');
    expect(decided).toMatchObject([
      { index: null, state: 'HCOMMIT' },
      { index: null, state: 'HABORT' },
    ]);
  });

  it('that the transaction log of the device committed are not rolled back', async () => {
    const { work, onQ, path } = await place();
    const transaction = { start: 7, serial: 1 };
    const spaceId = await work((engine) => {
      put(engine, 'one');
      put(engine, 'two');
      for (let serial = 1; serial <= 2; serial++) prepare(engine, 'Q', serial);
      return engine.space.spaceId;
    });
    const ports = { clock, ulog: silent, soon: setImmediate, newIdentity: () => TLOG };
    const tlog = await openTlog(
      await logIn(`${path}/${tlogDirectoryName('TLOG')}`),
      new AbortController().signal,
      ports,
    );
    const participants = [{ spaceId, name: 'SP' }];
    expect(tlog.promise(participants)).toBe(true);
    tlog.decide({ transaction, participants }, { released: () => {}, failed: () => {} });
    await tlog.close();
    const listed = rows(await onQ('qprinttrans'));
    expect(listed.map((row) => row.at(-1))).toEqual(['STATE', 'DECIDED', 'READY']);
    const index = listed[1]?.find((cell) => /^\d+$/.test(cell)) ?? '';
    expect(errorOf(await onQ(`qaborttrans -y ${index}`))).toMatch(
      /^qaborttrans: transaction \d+ is committed: the decision/,
    );
    expect((await onQ(`qcommittrans ${index}`)).failures).toBe(0);
  });
});

describe('qpeek', () => {
  it('shows text as it is, anything else in hexadecimal, as many as asked for, and goes on behind its cursor', async () => {
    const { work, onQ } = await place();
    await work((engine) => {
      put(engine, 'line one\nline two', { props: { replyqueue: 'R', flags: TPQ.TPQREPLYQ } });
      put(
        engine,
        Uint8Array.from({ length: 20 }, (_, i) => i),
      );
      put(engine, 'x'.repeat(5000));
    });
    const first = await onQ('qpeek 2');
    expect(first.out.map((line) => line.replace(/^\w{32}/, 'ID'))).toEqual([
      'ID: STRING, 17 bytes, priority 50, reply queue R',
      '  line one',
      '  line two',
      'ID: STRING, 20 bytes, priority 50',
      '  00000000  00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f  ................',
      '  00000010  10 11 12 13                                      ....',
      expect.stringMatching(/^more: qpeek 2 \S+$/),
    ]);
    const next = (first.out.at(-1) ?? '').replace('more: qpeek 2', 'qpeek -b 10 2');
    // The one behind which it goes on has gone meanwhile.
    const id = first.out[3]?.slice(0, 32) ?? '';
    const rest = await onQ(`qscan -m ${id}`, 'qdltm', 'qscan none', next);
    expect(rest.out.slice(2)).toEqual(['  xxxxxxxxxx', '  … 4990 more bytes']);
    expect(errorOf(await onQ('qpeek 2 nonsense'))).toBe(
      'qpeek: nonsense is not what a listing gave to go on with',
    );
    expect((await onQ('qpeek -x -b 2 1')).out[1]).toMatch(/^ {2}00000000 {2}6c 69 +li$/);
  });

  it('never sends a terminal what it would act on', () => {
    expect(bodyLines(Buffer.from('\u001b[2J'), false)).toEqual([
      `  00000000  1b 5b 32 4a${' '.repeat(36)}  .[2J`,
    ]);
    // Cut off in the middle of a character.
    expect(bodyLines(Buffer.from('aä').subarray(0, 2), false)).toEqual(['  a']);
  });
});

/** A person who types these lines; `breaks`: presses Ctrl-C so soon after asking. */
function typed(lines: readonly string[], breaks = Infinity): LineSource {
  const waiting = [...lines];
  let asked = 0;
  return {
    isTerminal: true,
    rows: 0,
    next: () => {
      const text = waiting.shift();
      const number = lines.length - waiting.length;
      return Promise.resolve(text === undefined ? { kind: 'end' } : { kind: 'line', text, number });
    },
    takeBreak: () => ++asked === breaks,
    lend: (work) => work(),
    close: () => {},
  };
}

describe('at a terminal', () => {
  it('changes are confirmed, unless -y says that they need not be', async () => {
    const { work, path } = await place();
    await work((engine) => put(engine, 'here'));
    const lines = [
      'qopen SP',
      'qset Q',
      'qdltm',
      '',
      'qdltm',
      'maybe',
      'n',
      'qcp -y 3',
      'qdltm',
      'Y',
      'qlist',
    ];
    const ran = await runLines(typed(lines), localDevice(path));
    expect(ran.err).toEqual(['qmadmin: qdeletemsg: y or n is needed']);
    expect(ran.out.slice(3)).toEqual([
      'nothing was done',
      'nothing was done',
      '1 message changed',
      '1 message deleted',
      'no message of queue Q is selected (1401)',
    ]);
  });

  it('Ctrl-C ends a listing and not the session', async () => {
    const { work, path } = await place();
    // In parts: the room for them is made while the log is open.
    for (let from = 0; from < 450; from += 50) {
      await work((engine) => {
        for (let i = from; i < from + 50; i++) put(engine, `${i}`);
      });
    }
    const ran = await runLines(typed(['qopen SP', 'qset Q', 'qlist', 'qinfo Q'], 1), localDevice(path));
    expect(ran.out).toHaveLength(3 + 1 + 200 + 1);
    expect(ran.out.at(-1)).toMatch(/^Queue Q: 450 /);
  });
});

describe('moments', () => {
  it.each([
    ['70', '1970-01-01T00:00:00'],
    ['37', '2037-01-01T00:00:00'],
    ['0002', '2000-02-01T00:00:00'],
    ['991231', '1999-12-31T00:00:00'],
    ['26120113', '2026-12-01T13:00:00'],
    ['2612011305', '2026-12-01T13:05:00'],
    ['261201130509', '2026-12-01T13:05:09'],
  ])('%s is %s in the time zone of who types it', (word, text) => {
    const parsed = parseMoment(word);
    if (!parsed.ok) throw new Error(parsed.legal);
    expect(momentText(parsed.value.seconds * 1000)).toBe(text);
  });

  it('are refused when they are none', () => {
    for (const word of [
      '',
      '38',
      '69',
      '7',
      '2613',
      '260230',
      '26010124',
      '2601010060',
      '+',
      '+-1',
      'none',
      '2026-01-01',
    ])
      expect([word, parseMoment(word).ok]).toEqual([word, false]);
    expect(parseExpiryMoment('none')).toEqual({ ok: true, value: 'none' });
    expect(parseMoments('+1-+2-+3').ok).toBe(false);
  });
});

// What a machine hosts: choice of the machine, paths, roles, what is refused for now; and the sample file at the root.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { formatFault } from '../../src/ubb/fault.ts';
import { NOT_YET } from '../../src/ubb/not-yet.ts';
import { planHost } from '../../src/ubb/plan.ts';
import { readDomain } from '../../src/ubb/read.ts';
import { domainOf, planOf, ubb, ubbWith } from '../support/ubb.ts';

const servers = (lines: string): string => ubb({ servers: `*SERVERS\n${lines}` });
const root = new URL('../../', import.meta.url).pathname;

describe('the machine', () => {
  const text = ubb({
    resources: '*RESOURCES\nIPCKEY 40000\nMASTER M1\nMODEL MP\nMAXGTT 7\n',
    machines:
      '*MACHINES\n"one" LMID=M1 APPDIR="/a:/b"\n"two" LMID=M2 APPDIR="x/y" MAXGTT=9\n"three" LMID=M3 APPDIR="${A}"\n',
    groups:
      '*GROUPS\nG1 LMID=M1 GRPNO=1 TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:/abs:S"\nG2 LMID=M2,M1 GRPNO=2 TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:q/d;S"\n',
    servers:
      '*SERVERS\nTMQUEUE SRVGRP=G1 SRVID=1\nTMQUEUE SRVGRP=G2 SRVID=2 CLOPT="-A -s @x"\na SRVGRP=G1 SRVID=3\nb SRVGRP=G2 SRVID=4\n' +
      'TMQFORWARD SRVGRP=G2 SRVID=5 CLOPT="-- -q A -d -t x"\nWSL SRVGRP=G2 SRVID=6 CLOPT="-- -n $A"\n',
  });
  const domain = domainOf(text);

  test.each([
    ['by host name', undefined, 'two', 'M2'],
    ['by --lmid', 'M1', 'two', 'M1'],
    [
      'not found',
      undefined,
      'four',
      "f: no machine of *MACHINES is named four, this host's name; choose one by --lmid; legal: M1, M2, M3",
    ],
    ['unknown --lmid', 'M9', 'two', 'f: --lmid M9 is no LMID of *MACHINES; legal: M1, M2, M3'],
  ])('%s', (_what, lmid, hostname, expected) => {
    const result = planHost(domain, { lmid, hostname });
    expect(result.ok ? result.plan.lmid : formatFault(result.fault)).toBe(expected);
  });

  test('the only machine needs no name', () => {
    expect(planOf(ubb(), 'whatever').lmid).toBe('M1');
  });

  test('hosts its own groups only, and only their findings', () => {
    const [one, two] = ['one', 'two'].map((hostname) => planHost(domain, { hostname }));
    if (!one?.ok || !two?.ok) throw new Error('no plan');
    expect(domain.faults).toEqual([]);
    expect([one.plan.appdir, two.plan.appdir]).toEqual(['/a', '/conf/x/y']);
    expect([one.plan.spaces[0]?.device, two.plan.spaces[0]?.device]).toEqual(['/abs', '/conf/x/y/q/d']);
    expect([one.plan.maxGtt, two.plan.maxGtt]).toEqual([7, 9]);
    expect([one.plan.applicationServers, two.plan.applicationServers]).toEqual([
      [{ name: 'a', group: 'G1', srvid: 3, min: 1, max: 1 }],
      [{ name: 'b', group: 'G2', srvid: 4, min: 1, max: 1 }],
    ]);
    expect([one.plan.notYet.length, two.plan.notYet.length]).toEqual([0, 1]);
    expect([one.plan.macros.length, two.plan.macros.length]).toEqual([0, 1]);
    expect([one.plan.warnings.length, two.plan.warnings.length]).toEqual([0, 1]);
  });
});

const aliasesOf = (clopt: string): (readonly string[])[] =>
  planOf(servers(`TMQUEUE SRVGRP=QG SRVID=1 CLOPT="${clopt}"\n`)).tmqueues.map((server) => server.aliases);

describe('roles', () => {
  test.each([
    ['', ['TMQUEUE']],
    ['-A', ['TMQUEUE']],
    ['-A -- -t 5', ['TMQUEUE']],
    ['-s TMQUEUE', ['TMQUEUE']],
    ['-s A:TMQUEUE', ['A']],
    ['-A -sA,B:TMQUEUE -s C:TMQUEUE --', ['A', 'B', 'C']],
    ['-s A:TMQUEUE -s A:TMQUEUE', ['A']],
  ])('TMQUEUE %j', (clopt, expected) => {
    expect(aliasesOf(clopt)).toEqual([expected]);
  });

  test('TMQUEUE: default and given timeout', () => {
    const plan = planOf(
      servers('TMQUEUE SRVGRP=QG SRVID=1\n"/opt/bin/TMQUEUE" SRVGRP=QG SRVID=2 CLOPT="-- -t60"\n'),
    );
    expect(plan.tmqueues).toEqual([
      { group: 'QG', srvid: 1, aliases: ['TMQUEUE'], timeoutS: 30, space: 'SPACE', line: 11 },
      { group: 'QG', srvid: 2, aliases: ['TMQUEUE'], timeoutS: 60, space: 'SPACE', line: 12 },
    ]);
  });

  test('TMQFORWARD: lists, defaults, instances', () => {
    const plan = planOf(
      servers(
        'TMQFORWARD SRVGRP=QG SRVID=1 CLOPT="-A -- -i 2 -qA,B -q B,C -t60"\nTMQFORWARD SRVGRP=QG SRVID=5 MIN=3 MAX=9 CLOPT="-- -q A -t x -i 0"\n',
      ),
    );
    const { timeoutS: _t, idleS: _i, ...options } = FORWARD_DEFAULTS;
    const REST = { ...options, grpno: 1, restart: false, maxGen: 1, graceS: 86_400, rcmd: '' };
    expect(plan.forwarders).toEqual([
      {
        group: 'QG',
        srvid: 1,
        queues: ['A', 'B', 'C'],
        timeoutS: 60,
        idleS: 2,
        instances: 1,
        instancesMax: 1,
        ...REST,
        space: 'SPACE',
        line: 11,
      },
      {
        group: 'QG',
        srvid: 5,
        queues: ['A'],
        timeoutS: 60,
        idleS: 0,
        instances: 3,
        instancesMax: 9,
        ...REST,
        space: 'SPACE',
        line: 12,
      },
    ]);
    expect(plan.warnings).toEqual([
      'f:12:60: -t: x is no number of seconds 0..2147483647; ignored, the default 60 is used',
    ]);
  });

  test('WSL: every -n of every line', () => {
    const plan = planOf(
      servers(
        'WSL SRVGRP=AG SRVID=1 CLOPT="-A -- -n//h:1 -m 2\n  -n 0x0002000A7F000001 -p 2071 -d /dev/tcp"\nWSL SRVGRP=AG SRVID=2\n',
      ),
    );
    expect(plan.listen).toEqual([
      { host: 'h', port: 1, line: 11 },
      { host: '127.0.0.1', port: 10, line: 12 },
    ]);
  });

  test('resources', () => {
    const plan = planOf(
      ubb({
        resources:
          '*RESOURCES\nIPCKEY 40000\nMASTER M1\nMODEL SHM\nSCANUNIT 5\nBLOCKTIME 3\nMAXTRANTIME 99\n',
      }),
    );
    expect([plan.blockTimeMs, plan.maxTranTimeS, plan.maxGtt]).toEqual([15_000, 99, 100]);
    expect(planOf(ubb()).blockTimeMs).toBe(60_000);
  });

  test('services', () => {
    const text = ubbWith('*SERVICES\nDEFAULT: LOAD=7\nS\nT PRIO=9 SRVGRP=AG BLOCKTIME=5\n');
    expect(planOf(text).services).toEqual([
      {
        name: 'S',
        group: undefined,
        prio: 50,
        load: 7,
        blockTimeS: 0,
        bufferTypes: 'ALL',
        autotran: false,
        tranTimeS: 30,
      },
      {
        name: 'T',
        group: 'AG',
        prio: 9,
        load: 7,
        blockTimeS: 5,
        bufferTypes: 'ALL',
        autotran: false,
        tranTimeS: 30,
      },
    ]);
  });
});

describe('spaces and queues', () => {
  test('declared, with every attribute', () => {
    const text = ubbWith(
      '*QSPACES\nSPACE SRVGRP=QG ERRORQ=E PAGES=1 QUEUES=2 TRANS=3 PROCS=4 MSGS=5 NONPERSIST="64m" ACTIONS=6 BLOCKING=17\n' +
        '*QUEUES\nDEFAULT: QSPACE=SPACE RETRIES=2 DELAY=1\nE RETRIES=0\n"WEIRD NAME"\n' +
        '  ORDER=priority,time OUTOFORDER="top,msgid" POLICY=nonpersist EXPIRY=60 HIGH="10m" LOW=0 CMD="echo \\"x\\""\n',
    );
    const base = {
      order: 'fifo',
      outOfOrder: 'none',
      policy: 'persist',
      expiryS: null,
      high: '100%',
      low: '0%',
      command: '',
      nonPersistentHigh: '100%',
      nonPersistentLow: '0%',
      nonPersistentCommand: '',
    };
    expect(planOf(text).spaces).toEqual([
      {
        name: 'SPACE',
        group: 'QG',
        file: 'f',
        device: '/conf/app/dev',
        declared: true,
        errorQueue: 'E',
        line: 13,
        limits: {
          pages: 1,
          queues: 2,
          transactions: 3,
          processes: 4,
          messages: 5,
          nonPersistentBytes: 67_108_864,
          actions: 6,
          blocking: 17,
        },
        queues: [
          { ...base, name: 'E', retries: 0, delayS: 1, line: 16, column: 1 },
          {
            ...base,
            name: 'WEIRD NAME',
            retries: 2,
            delayS: 1,
            order: 'priority,time,fifo',
            outOfOrder: 'top,msgid',
            policy: 'nonpersist',
            expiryS: 60,
            high: '10m',
            low: '0',
            command: 'echo "x"',
            line: 17,
            column: 1,
          },
        ],
      },
    ]);
  });

  test('not declared: made by qmadmin', () => {
    const [space] = planOf(ubb()).spaces;
    expect([space?.name, space?.declared, space?.errorQueue, space?.queues]).toEqual([
      'SPACE',
      false,
      '',
      [],
    ]);
  });

  test('one device shared by two spaces is fine', () => {
    const groups =
      '*GROUPS\nQG LMID=M1 GRPNO=1 TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:d:A"\nAG LMID=M1 GRPNO=2 TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:d:B"\n';
    expect(planOf(ubb({ groups })).spaces.map((space) => `${space.name} ${space.device}`)).toEqual([
      'A /conf/app/d',
      'B /conf/app/d',
    ]);
  });
});

/** The forwarder of a CLOPT, and what is said of it. */
function forwarding(words: string): { options: object; warnings: readonly string[] } {
  const plan = planOf(servers(`TMQFORWARD SRVGRP=QG SRVID=1 CLOPT="-- -q A ${words}"\n`));
  const [forwarder] = plan.forwarders;
  const { timeoutS, idleS, exitsWhenEmpty, keepsFailures, isOutside, fireDelayS, blockTimeS } =
    forwarder ?? {};
  const options = { timeoutS, idleS, exitsWhenEmpty, keepsFailures, isOutside, fireDelayS, blockTimeS };
  return { options, warnings: plan.warnings.map((line) => line.replace(/^f:11:/, '')) };
}
const FORWARD_DEFAULTS = {
  timeoutS: 60,
  idleS: 30,
  exitsWhenEmpty: false,
  keepsFailures: false,
  isOutside: false,
  fireDelayS: null,
  blockTimeS: 0,
};

describe('TMQFORWARD options [spec 4.2]', () => {
  test.each<[string, object, string[]]>([
    ['', {}, []],
    ['-e', { exitsWhenEmpty: true }, []],
    ['-d', { keepsFailures: true }, []],
    ['-n', { isOutside: true }, []],
    [
      '-edn -t 5 -i0',
      { exitsWhenEmpty: true, keepsFailures: true, isOutside: true, timeoutS: 5, idleS: 0 },
      [],
    ],
    ['-f 0', { fireDelayS: 0 }, []],
    ['-f3 -b 5', { fireDelayS: 3, blockTimeS: 5 }, []],
    ['-n -b 2147483647', { isOutside: true, blockTimeS: 2_147_483_647 }, []],
    // Of several the last counts.
    ['-f 1 -f 2', { fireDelayS: 2 }, []],
    ['-t x', {}, ['48: -t: x is no number of seconds 0..2147483647; ignored, the default 60 is used']],
    [
      '-i 2147483648',
      {},
      ['48: -i: 2147483648 is no number of seconds 0..2147483647; ignored, the default 30 is used'],
    ],
    [
      '-f 1s',
      {},
      ['48: -f: 1s is no number of seconds 0..2147483647; ignored, it is as if -f were not given'],
    ],
    [
      '-n -b -1',
      { isOutside: true },
      ['51: -b: -1 is no number of seconds 0..2147483647; ignored, the default 0 is used'],
    ],
    ['-b 5', { blockTimeS: 5 }, ['48: -b does nothing without -n or -f: -t is the limit']],
    [
      '-d -f 0',
      { keepsFailures: true, fireDelayS: 0 },
      ['46: -d does nothing with -f: no answer is waited for'],
    ],
  ])('%j', (words, members, warnings) => {
    expect(forwarding(words)).toEqual({ options: { ...FORWARD_DEFAULTS, ...members }, warnings });
  });

  test('-f without its number is a fault', () => {
    const text = servers('TMQFORWARD SRVGRP=QG SRVID=1 CLOPT="-- -q A -f"\n');
    expect(domainOf(text).faults.map(formatFault)).toEqual(['f:11:46: TMQFORWARD: -f needs an argument']);
  });

  test('RESTART, MAXGEN, GRACE, RCMD and the number of the group', () => {
    const life = 'RESTART=Y MAXGEN=3 GRACE=60 RCMD="./restarted"';
    const plan = planOf(servers(`TMQFORWARD SRVGRP=QG SRVID=1 ${life} CLOPT="-- -q A"\n`));
    expect(plan.forwarders[0]).toMatchObject({
      restart: true,
      maxGen: 3,
      graceS: 60,
      rcmd: './restarted',
      grpno: 1,
    });
  });
});

describe('not yet supported', () => {
  const twoGroups =
    '*GROUPS\nQG LMID=M1 GRPNO=1 TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:d:A"\nAG LMID=M1 GRPNO=2 TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:d:B"\n';
  const secure = '*RESOURCES\nIPCKEY 40000\nMASTER M1\nMODEL SHM\nSECURITY ACL\n';

  const rows: Record<keyof typeof NOT_YET, [text: string, place: string]> = {
    security: [ubb({ resources: secure }), '5:10'],
    'alias in two groups': [
      ubb({
        groups: twoGroups,
        servers:
          '*SERVERS\nTMQUEUE SRVGRP=QG SRVID=1\nTMQUEUE SRVGRP=AG SRVID=1 CLOPT="-s B,TMQUEUE:TMQUEUE"\n',
      }),
      '12:33',
    ],
    'space name twice': [ubb({ groups: twoGroups.replace('d:B', 'e:A'), servers: '' }), '9:44'],
    'services from a file': [servers('TMQUEUE SRVGRP=QG SRVID=1 CLOPT="-s @x"\n'), '11:37'],
  };
  test.each(Object.entries(rows))('%s', (kind, [text, place]) => {
    const domain = domainOf(text);
    const found = domain.notYet.find((note) => note.kind === kind);
    expect(domain.faults).toEqual([]);
    expect(found && formatFault(found)).toBe(
      `f:${place}: not yet supported: ${Object.entries(NOT_YET).find(([key]) => key === kind)?.[1]}`,
    );
  });

  test('values that ask for nothing new', () => {
    const text = ubbWith(
      '*QSPACES\nSPACE SRVGRP=QG PAGES=0 QUEUES=0 TRANS=0 PROCS=9 MSGS=0 NONPERSIST=0 ACTIONS=0 BLOCKING=99\n' +
        '*QUEUES\nQ QSPACE=SPACE ORDER="fifo" OUTOFORDER="none" POLICY=persist EXPIRY="none" HIGH="80%" LOW="0" CMD=""\n' +
        '*SERVICES\nS AUTOTRAN=Y TRANTIME=5\n',
    );
    expect(domainOf(text).faults).toEqual([]);
    expect(domainOf(text).notYet).toEqual([]);
  });
});

describe('ubbconfig.example', () => {
  const domain = readDomain(`${root}ubbconfig.example`);
  test('is valid, complete and asks for nothing that is not there', () => {
    expect([domain.faults, domain.warnings, domain.notYet, domain.macros]).toEqual([[], [], [], []]);
  });

  test('is the application of DESIGN 2', () => {
    const result = planHost(domain, { hostname: 'any' });
    if (!result.ok) throw new Error(result.fault.message);
    const { plan } = result;
    expect(`${plan.appdir}/`).toBe(root);
    expect(plan.listen.map(({ host, port }) => `${host}:${port}`)).toEqual(['127.0.0.1:7110']);
    expect(plan.spaces.map(({ name, device, errorQueue }) => [name, device, errorQueue])).toEqual([
      ['QSPACE', `${root}data`, 'ERRQ'],
    ]);
    expect(plan.spaces[0]?.queues.map(({ name, retries, delayS }) => [name, retries, delayS])).toEqual([
      ['STRING', 2, 1],
      ['RPLYQ', 2, 1],
      ['ERRQ', 0, 0],
    ]);
    expect(plan.tmqueues.map(({ aliases, timeoutS }) => [aliases, timeoutS])).toEqual([[['QSPACE'], 30]]);
    expect(plan.forwarders.map(({ queues, idleS }) => [queues, idleS])).toEqual([[['STRING'], 10]]);
    expect(plan.applicationServers.map(({ name }) => name)).toEqual(['stringserver']);
  });

  test('has no line wider than the sources may have', () => {
    const wide = readFileSync(`${root}ubbconfig.example`, 'utf8')
      .split('\n')
      .filter((line) => line.length > 130);
    expect(wide).toEqual([]);
  });
});

test.each([
  ['a missing file', '/nonexistent/ubb', /^\/nonexistent\/ubb: cannot be read: there is no such file$/],
  [
    'a file without end',
    '/dev/zero',
    /^\/dev\/zero: is larger than a UBBCONFIG may be; legal: up to 16777216 bytes$/,
  ],
  ['a folder', '/tmp', /^\/tmp: is a directory; legal: the name of a UBBCONFIG file$/],
])('%s is a fault', (_what, path, expected) => {
  const { faults } = readDomain(path);
  expect(faults.length).toBe(1);
  expect(faults.map(formatFault)[0]).toMatch(expected);
});

// Every accepted form of shared/spec/ubb-syntax.md as a small file of our own, with the model it must give [field case C65].

import { describe, expect, test } from 'vitest';
import { findParameter } from '../../src/ubb/checker.ts';
import { formatFault } from '../../src/ubb/fault.ts';
import type { Server } from '../../src/ubb/model.ts';
import { domainOf, faultsOf, planOf, ubb, ubbWith } from '../support/ubb.ts';

const servers = (text: string): readonly Server[] => {
  expect(faultsOf(text)).toEqual([]);
  return domainOf(text).servers;
};
const brief = (text: string): string[] =>
  servers(text).map(
    ({ name, group, srvid, min, clopt, line }) => `${line} ${name} ${group} ${srvid} ${min} [${clopt}]`,
  );
const withServers = (lines: string): string => ubb({ servers: `*SERVERS\n${lines}` });

describe('lines, comments and continuation', () => {
  const rows: [form: string, text: string, expected: string[]][] = [
    ['tabs', 'a\tSRVGRP=AG\tSRVID=7\n', ['11 a AG 7 1 [-A]']],
    ['blanks around =', 'a SRVGRP = AG SRVID  =  7 MIN= 2 MAX =3\n', ['11 a AG 7 2 [-A]']],
    [
      'comment after values',
      'a SRVGRP=AG SRVID=7 # one\n# two\n## three\nb SRVGRP=AG SRVID=8#four\n',
      ['11 a AG 7 1 [-A]', '14 b AG 8 1 [-A]'],
    ],
    ['comment between continuation lines', 'a SRVGRP=AG\n# x="\n\t# y\n\tSRVID=7\n', ['11 a AG 7 1 [-A]']],
    ['# inside quotes', 'a SRVGRP=AG SRVID=7 CLOPT="-A # x"\n', ['11 a AG 7 1 [-A # x]']],
    ['indented continuation', 'a\n\tSRVGRP=AG\n   SRVID=7\n', ['11 a AG 7 1 [-A]']],
    [
      'continuation at column 0',
      'a\nSRVGRP=AG\nSRVID = 7\nb SRVGRP=AG\nSRVID=8\n',
      ['11 a AG 7 1 [-A]', '14 b AG 8 1 [-A]'],
    ],
    ['blank line inside an entry', 'a SRVGRP=AG\n\n\n\tSRVID=7\n', ['11 a AG 7 1 [-A]']],
    [
      'name alone, quoted name',
      '"a b"\n  SRVGRP=AG SRVID=7\n"proc.py" SRVGRP=AG SRVID=8\n',
      ['11 a b AG 7 1 [-A]', '13 proc.py AG 8 1 [-A]'],
    ],
    ['unquoted name with a dot', 'proc.py SRVGRP=AG SRVID=8\n', ['11 proc.py AG 8 1 [-A]']],
    [
      'entries all indented',
      '  a SRVGRP=AG SRVID=7\n  b SRVGRP=AG SRVID=8\n',
      ['11 a AG 7 1 [-A]', '12 b AG 8 1 [-A]'],
    ],
    ['value on the next line', 'a SRVGRP=\n   AG SRVID=7\n', ['11 a AG 7 1 [-A]']],
    ['lone blanks line', '\t\t\na SRVGRP=AG SRVID=7\n\t \n', ['12 a AG 7 1 [-A]']],
    ['no final newline', 'a SRVGRP=AG SRVID=7', ['11 a AG 7 1 [-A]']],
    ['final line a comment without newline', 'a SRVGRP=AG SRVID=7\n# end', ['11 a AG 7 1 [-A]']],
    ['a name that looks like a keyword', '"DEFAULT:" SRVGRP=AG SRVID=7\n', ['11 DEFAULT: AG 7 1 [-A]']],
  ];
  test.each(rows)('%s', (_form, text, expected) => {
    expect(brief(withServers(text))).toEqual(expected);
  });

  test('blanks and a comment after a section name', () => {
    expect(brief(ubb({ servers: '*SERVERS  \t # all of them\na SRVGRP=AG SRVID=7\n' }))).toEqual([
      '11 a AG 7 1 [-A]',
    ]);
  });
});

describe('DEFAULT:', () => {
  const rows: [form: string, text: string, expected: string[]][] = [
    ['values on its line', 'DEFAULT: SRVGRP=AG MIN=2 MAX=5\na SRVID=7\n', ['12 a AG 7 2 [-A]']],
    ['alone with indented values', 'DEFAULT:\n\tSRVGRP=AG\n\tMIN=2 MAX=5\na SRVID=7\n', ['14 a AG 7 2 [-A]']],
    ['values at column 0', 'DEFAULT:\nSRVGRP=AG\na SRVID=7\n', ['13 a AG 7 1 [-A]']],
    [
      'an own value wins',
      'DEFAULT: SRVGRP=AG MIN=2 CLOPT="x"\na SRVID=7 MIN=3 CLOPT="y"\n',
      ['12 a AG 7 3 [y]'],
    ],
    [
      'each replaces the last, empty clears',
      'DEFAULT: SRVGRP=AG MIN=2\na SRVID=1\nDEFAULT: CLOPT="z"\nb SRVGRP=AG SRVID=2\nDEFAULT:\nc SRVGRP=AG SRVID=3\n',
      ['12 a AG 1 2 [-A]', '14 b AG 2 1 [z]', '16 c AG 3 1 [-A]'],
    ],
  ];
  test.each(rows)('%s', (_form, text, expected) => {
    expect(brief(withServers(text))).toEqual(expected);
  });

  test('ten times in a section', () => {
    const lines = Array.from(
      { length: 10 },
      (_, i) => `DEFAULT: SRVGRP=AG MIN=${i + 1}\nS${i} SRVID=${10 * i + 1}\n`,
    );
    expect(servers(withServers(lines.join(''))).map((server) => server.min)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ]);
  });

  test('does not reach into the next section', () => {
    const text = ubb({
      servers: '*SERVERS\nDEFAULT: SRVGRP=AG\na SRVID=1\n',
      services: '*SERVICES\nS LOAD=3\n',
    });
    expect(domainOf(text).services.map(({ group, load }) => [group, load])).toEqual([[undefined, 3]]);
  });
});

const clopt = (source: string): string => {
  const [server] = servers(withServers(`a SRVGRP=AG SRVID=7 CLOPT=${source}\n`));
  return server?.clopt ?? '';
};

describe('values', () => {
  const rows: [form: string, source: string, expected: string][] = [
    ['escaped quotes and backslashes', String.raw`"a \"b\" \\ \n \\\""`, String.raw`a "b" \ \n \"`],
    ['empty', '""', ''],
    ['over two lines', '"-A\n   -- -x"', '-A\n   -- -x'],
    ['over two lines with CRLF', '"-A\r\n-- -x"', '-A\r\n-- -x'],
    ['=, comma and comment sign', '"a=b,c#d"', 'a=b,c#d'],
    ['section sign at a line start inside quotes', '"-A\n*SERVERS"', '-A\n*SERVERS'],
    ['UTF-8', '"Größe 漢字 🎉"', 'Größe 漢字 🎉'],
    ['a byte order mark inside', '"a\ufeffb"', 'a\ufeffb'],
    ['trailing blank kept', '"-s X:TMQUEUE -- "', '-s X:TMQUEUE -- '],
    ['a placeholder inside quotes', '"<x>"', '<x>'],
  ];
  test.each(rows)('%s: bytes exact', (_form, source, expected) => {
    expect(clopt(source)).toBe(expected);
  });

  test('line numbers stay right after a value of several lines', () => {
    expect(brief(withServers('a SRVGRP=AG SRVID=7 CLOPT="x\ny\nz"\nb SRVGRP=AG SRVID=8\n'))[1]).toBe(
      '14 b AG 8 1 [-A]',
    );
  });

  test('numbers in decimal, hex and octal', () => {
    const text = ubb({
      groups:
        '*GROUPS\nA LMID=M1 GRPNO=0x10\nB LMID=M1 GRPNO=010\nC LMID=M1 GRPNO=10\nD LMID=M1 GRPNO="11"\n',
      servers: '',
    });
    expect(faultsOf(text)).toEqual([]);
    expect(domainOf(text).groups.map((group) => group.grpno)).toEqual([16, 8, 10, 11]);
  });

  test('RESOURCES: tabs, several blanks, lists, quoted values, a value on the next line', () => {
    const resources =
      '*RESOURCES\n  IPCKEY\t\t40000\nMASTER     M1 # here\nMODEL\n   SHM\nOPTIONS LAN,MIGRATE\nSYSTEM_ACCESS PROTECTED, NO_OVERRIDE\nDOMAINID "a b"\n';
    const domain = domainOf(ubb({ resources }));
    expect(domain.faults).toEqual([]);
    const value = (key: string): string | undefined => findParameter(domain.resources.entry, key)?.value.text;
    expect([value('OPTIONS'), value('SYSTEM_ACCESS'), value('DOMAINID'), value('MODEL')]).toEqual([
      'LAN,MIGRATE',
      'PROTECTED,NO_OVERRIDE',
      'a b',
      'SHM',
    ]);
  });

  test('comma lists, bare and quoted, with blanks', () => {
    const machines = '*MACHINES\n"n1" LMID=M1 APPDIR="app"\n"n2" LMID="M2" APPDIR="app"\n';
    const resources = '*RESOURCES\nIPCKEY 40000\nMASTER M1,M2\nMODEL MP\n';
    const groups = '*GROUPS\nA LMID=M1,M2 GRPNO=1\nB LMID="M1,M2" GRPNO=2\nC LMID = "M1" , "M2" GRPNO=3\n';
    const domain = domainOf(ubb({ resources, machines, groups, servers: '' }));
    expect(domain.faults).toEqual([]);
    expect(domain.groups.map((group) => group.lmids.join('|'))).toEqual(['M1|M2', 'M1|M2', 'M1|M2']);
  });
});

describe('line ends and encodings', () => {
  const text = ubb({ servers: '*SERVERS\na SRVGRP=AG\n\tSRVID=7\nb SRVGRP=AG SRVID=8\n' });
  const expected = ['11 a AG 7 1 [-A]', '13 b AG 8 1 [-A]'];
  let turn = 0;
  const rows: [form: string, text: string][] = [
    ['CRLF', text.replaceAll('\n', '\r\n')],
    ['mixed', text.replaceAll('\n', () => ['\n', '\r\n'][(turn += 1) % 2] ?? '')],
    ['CR alone', text.replaceAll('\n', '\r')],
    ['byte order mark', `\ufeff${text}`],
    ['form feed', text.replaceAll('\n', '\f\n')],
  ];
  test.each(rows)('%s', (_form, source) => {
    expect(brief(source)).toEqual(expected);
  });

  test('bytes that are not UTF-8 in comments', () => {
    const bytes = Uint8Array.from([0x23, 0xe4, 0xff, 0x00, 0x0a, ...new TextEncoder().encode(text)]);
    expect(domainOf(bytes).faults).toEqual([]);
    expect(domainOf(bytes).servers.map((server) => server.line)).toEqual([12, 14]);
  });

  test('columns count characters', () => {
    const source = ubbWith('*SERVICES\nS BUFTYPE="äöü🎉" LOAD=0\n');
    expect(faultsOf(source)).toEqual([
      'f:13:23: LOAD: 0 is not legal; legal: a number 1..32767 (decimal, 0x hex or 0 octal)',
    ]);
  });
});

describe('accepted without meaning', () => {
  test('parameters and whole sections are notes, in file order', () => {
    const text = ubb({
      machines: '*MACHINES\n"node" LMID=M1 APPDIR="app" MAXWSCLIENTS=5\n',
      groups:
        '*GROUPS\nAG LMID=M1 GRPNO=2 OPENINFO=NONE\nORA LMID=M1 GRPNO=3 TMSNAME=TMS_ORA OPENINFO="Oracle_XA:x;y=z+P/$u"\n*NETGROUPS\nDEFAULTNET NETGRPNO=0 WHATEVER=1\n',
      servers:
        '*SERVERS\nJSL SRVGRP=AG SRVID=1 SECONDARYRQ=Y CLOPT="-A -- -n //h:1 -j ANY"\nGWADM SRVGRP=AG SRVID=2\nDMADM SRVGRP=AG SRVID=3 RESTART=Y\n',
      services:
        '*SERVICES\nS AUTOTRAN=Y TRANTIME=60 BUFTYPE="FML" SVCTIMEOUT=3 ROUTING=R\n*ROUTING\nR FIELD=F RANGES="0:AG,\n  *:*"\n',
    });
    const domain = domainOf(text);
    expect(domain.faults).toEqual([]);
    expect(domain.notes.map((note) => `${note.line} ${note.message}`)).toEqual([
      '2 IPCKEY of *RESOURCES has no meaning here',
      '6 MAXWSCLIENTS of *MACHINES has no meaning here',
      '9 TMSNAME of *GROUPS has no meaning here unless it is TMS_QM',
      '9 OPENINFO of *GROUPS has no meaning here without TMSNAME=TMS_QM',
      '10 section *NETGROUPS has no meaning here',
      "13 JSL is one of Tuxedo's own servers; it has no meaning here",
      '13 SECONDARYRQ of *SERVERS has no meaning here',
      "14 GWADM is one of Tuxedo's own servers; it has no meaning here",
      "15 DMADM is one of Tuxedo's own servers; it has no meaning here",
      '15 RESTART of *SERVERS has no meaning here but for TMQFORWARD',
      '17 SVCTIMEOUT of *SERVICES is not yet in effect',
      '17 ROUTING of *SERVICES is not yet in effect',
      '19 FIELD of *ROUTING is not yet in effect',
      '19 RANGES of *ROUTING is not yet in effect',
    ]);
    expect(domain.warnings.map(formatFault)).toEqual([
      'f:17:61: ROUTING is not yet in effect: a request goes to any server that offers the service',
    ]);
    expect(planOf(text).applicationServers).toEqual([]);
    expect(planOf(text).macros).toEqual([]);
  });

  test('options of Tuxedo servers that do nothing here are notes, each at its place', () => {
    const text = withServers(
      'TMQUEUE SRVGRP=QG SRVID=1 CLOPT="-A -r -e err -s S:TMQUEUE -- -t 3"\n' +
        'TMQFORWARD SRVGRP=QG SRVID=2 CLOPT="-A -n 5\n -- -q A"\n' +
        'WSL SRVGRP=AG SRVID=3 RQADDR=x CLOPT="-A -- -n //h:1 -m2 -a"\n' +
        'a SRVGRP=AG SRVID=4 CLOPT="-A -r -e err"\n',
    );
    const { faults, notes } = domainOf(text);
    expect(faults).toEqual([]);
    expect(notes.slice(1).map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual([
      '11:38 option -r of TMQUEUE has no meaning here',
      '11:43 option -e of TMQUEUE has no meaning here',
      '12:43 option -n of TMQFORWARD has no meaning here',
      '14:23 RQADDR of *SERVERS has no meaning here',
      '14:56 option -m of WSL has no meaning here',
      '14:59 option -a of WSL has no meaning here',
    ]);
    expect(new Set(notes.map((note) => note.status))).toEqual(new Set(['no meaning here']));
  });

  test('what a forwarder that failed does is a note on other servers', () => {
    const more = 'RESTART=Y MAXGEN=5 GRACE=0 RCMD="restarted"';
    const text = withServers(
      `TMQUEUE SRVGRP=QG SRVID=1 ${more}\nTMQFORWARD SRVGRP=QG SRVID=2 ${more} CLOPT="-- -q A"\n`,
    );
    expect(
      domainOf(text)
        .notes.slice(1)
        .map(({ line, message }) => `${line} ${message}`),
    ).toEqual(
      ['RESTART', 'MAXGEN', 'GRACE', 'RCMD'].map(
        (key) => `11 ${key} of *SERVERS has no meaning here but for TMQFORWARD`,
      ),
    );
  });

  test('MIN and MAX are notes where they do nothing', () => {
    const text = withServers(
      'DEFAULT: MIN=2\na SRVGRP=AG SRVID=1\nTMQFORWARD SRVGRP=QG SRVID=10 CLOPT="-- -q A"\n' +
        'TMQFORWARD SRVGRP=QG SRVID=20 MAX=2 CLOPT="-- -q A"\nTMQFORWARD SRVGRP=QG SRVID=30 MAX=3 CLOPT="-- -q A"\n' +
        'TMQUEUE SRVGRP=QG SRVID=40 MAX=5\n',
    );
    expect(
      domainOf(text)
        .notes.slice(1)
        .map(({ line, message }) => `${line} ${message}`),
    ).toEqual([
      '11 MIN of *SERVERS has no meaning here but for TMQFORWARD',
      '16 MAX of *SERVERS has no meaning here but for TMQFORWARD',
    ]);
  });

  test('every default of a server and a service', () => {
    const domain = domainOf(ubb({ servers: '*SERVERS\na SRVGRP=AG SRVID=7\n', services: '*SERVICES\nS\n' }));
    const { entry: _entry, ...server } = domain.servers[0] ?? { entry: undefined };
    expect(server).toEqual({
      name: 'a',
      group: 'AG',
      srvid: 7,
      min: 1,
      max: 1,
      clopt: '-A',
      rqaddr: '',
      replyq: false,
      restart: false,
      maxGen: 1,
      graceS: 86_400,
      rcmd: '',
      role: { kind: 'application' },
      line: 11,
      column: 1,
    });
    const { entry: _service, ...service } = domain.services[0] ?? { entry: undefined };
    expect(service).toEqual({
      name: 'S',
      group: undefined,
      load: 50,
      prio: 50,
      blockTimeS: 0,
      bufferTypes: 'ALL',
      tranTimeS: 30,
      autotran: false,
      routing: '',
      line: 13,
      column: 1,
    });
  });
});

describe('macros', () => {
  const text = ubb({
    resources: '*RESOURCES\nIPCKEY $KEY\nMASTER M1\nMODEL SHM\nMAXGTT ${GTT}\n',
    machines: '*MACHINES\n"@UNAME@" LMID=M1 APPDIR="@CURDIR@/x" TUXDIR="$TUXDIR"\n',
    servers:
      '*SERVERS\na SRVGRP=AG SRVID=@ID@ CLOPT="$X"\nTMQFORWARD SRVGRP=QG SRVID=2 RCMD="sh $HOME @A@" CLOPT="-A -- -q $Q ${MORE} -i $I"\nWSL SRVGRP=AG SRVID=3 CLOPT="-A --\n -n ${ADDR} -n //h:$P"\n',
  });

  test('an unfilled file is read, and each macro is named', () => {
    expect(faultsOf(text)).toEqual([]);
    const words = '$KEY ${GTT} @UNAME@ @CURDIR@ $TUXDIR @ID@ $X @A@ $Q ${MORE} $I ${ADDR} $P'.split(' ');
    const lines = text.split('\n');
    const places = words.map((word) => {
      const at = lines.findIndex((line) => line.includes(word));
      return `${at + 1}:${(lines[at] ?? '').indexOf(word) + 1} ${word}`;
    });
    expect(domainOf(text).macros.map((macro) => `${macro.line}:${macro.column} ${macro.word}`)).toEqual(
      places,
    );
    const [first] = domainOf(text).macros;
    expect(first && formatFault(first)).toBe(
      'f:2:8: the macro $KEY is not filled in; replace it by its value',
    );
  });

  test('in a list over two lines each stands at its own place', () => {
    const source = ubb({ groups: '*GROUPS\nA LMID=M1,\n   "x$L"  , ${M} GRPNO=1\n', servers: '' });
    expect(domainOf(source).macros.map((macro) => `${macro.line}:${macro.column} ${macro.word}`)).toEqual([
      '9:6 $L',
      '9:13 ${M}',
    ]);
  });

  test('only those matter that this machine acts on', () => {
    expect(planOf(text).macros.map((macro) => macro.word)).toEqual([
      '${GTT}',
      '@CURDIR@',
      '@A@',
      '$Q',
      '${MORE}',
      '$I',
      '${ADDR}',
      '$P',
    ]);
  });

  test.each([
    [
      'a whole OPENINFO, and the space in *QSPACES',
      'QG LMID=M1 GRPNO=1 TMSNAME=TMS_QM OPENINFO="$OPENINFO"',
      'SPACE SRVGRP=QG',
    ],
    ['TMSNAME', 'QG LMID=M1 GRPNO=1 TMSNAME=@TMS@ OPENINFO="TUXEDO/QM:d:SPACE"', 'SPACE SRVGRP=QG'],
    ['LMID', 'QG LMID=$LMID GRPNO=1 TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:d:SPACE"', 'SPACE SRVGRP=QG'],
    [
      'a long macro for a short name',
      'QG LMID=M1 GRPNO=1 TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:d:${NAME_OF_THE_SPACE}"',
      '"${NAME_OF_THE_SPACE}" SRVGRP=QG',
    ],
    ['SRVGRP', 'QG LMID=M1 GRPNO=1 TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:d:SPACE"', 'SPACE SRVGRP=$GROUP'],
  ])('a value nobody knows yet is not judged: %s', (_what, group, space) => {
    const source = ubb({
      groups: `*GROUPS\n${group}\n`,
      servers:
        '*SERVERS\nTMQUEUE SRVGRP=QG SRVID=$ID\nTMQFORWARD SRVGRP=QG SRVID=2 CLOPT="$CLOPT"\na SRVGRP=$G SRVID=3\n',
      rest: `*QSPACES\n${space}\n*QUEUES\nQ QSPACE=$SPACE ORDER="$ORDER" HIGH="$HIGH" POLICY=$POLICY\n`,
    });
    expect(faultsOf(source)).toEqual([]);
    expect(domainOf(source).macros.length).toBeGreaterThanOrEqual(8);
    expect(planOf(source).macros.map((macro) => macro.word)).toContain('$G');
  });
});

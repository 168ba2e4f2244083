// Every refused form of shared/spec/ubb-syntax.md that the text alone shows: syntax and sections, with the exact message and place.

import { describe, expect, test } from 'vitest';
import { domainOf, faultsOf, ubb, ubbWith } from '../support/ubb.ts';

type Row = [what: string, text: string, faults: string[]];

const servers = (lines: string): string => ubb({ servers: `*SERVERS\n${lines}` });
const resources = (lines: string): string =>
  ubb({ resources: `*RESOURCES\nIPCKEY 40000\nMASTER M1\nMODEL SHM\n${lines}` });
const number = (min: number, max: number): string =>
  `legal: a number ${min}..${max} (decimal, 0x hex or 0 octal)`;

const SYNTAX: Row[] = [
  [
    'KEY=VALUE in RESOURCES',
    resources('MAXGTT=100\nSCANUNIT 5\n'),
    ['f:5:1: MAXGTT is followed by "="; in RESOURCES a line is KEYWORD value, without "="'],
  ],
  [
    'a keyword without value',
    resources('MAXGTT\nSCANUNIT 5\n'),
    ['f:5:1: MAXGTT has no value; a line of RESOURCES is KEYWORD value'],
  ],
  [
    'two values in RESOURCES',
    resources('OPTIONS LAN MIGRATE\n'),
    ['f:5:13: MIGRATE is one word too many; a line of RESOURCES is KEYWORD value (a list: A,B)'],
  ],
  [
    'DEFAULT: in RESOURCES',
    resources('DEFAULT: MAXGTT 1\n'),
    ['f:5:1: DEFAULT: has no place in RESOURCES; it is legal in every other section'],
  ],
  [
    'quote never closed, at the end',
    servers('a SRVGRP=AG SRVID=1 CLOPT="-A\n'),
    ['f:11:27: the quote opened here is never closed; a value in quotes ends with another double quote'],
  ],
  [
    'quote never closed, another follows',
    servers('a SRVGRP=AG SRVID=1 CLOPT="-A\nb SRVGRP=AG SRVID=2 CLOPT="-A"\n'),
    [
      'f:11:27: the quote opened here is perhaps not closed: it would end at line 12, column 27, where another value seems to begin',
    ],
  ],
  [
    'quote never closed, one with a blank follows',
    servers('a SRVGRP=AG SRVID=1 CLOPT="-A\nb SRVGRP=AG SRVID=2 CLOPT=" -A"\n'),
    [
      'f:11:27: the quote opened here is perhaps not closed: it would end at line 12, column 27, where another value seems to begin',
    ],
  ],
  [
    'text glued to a quote',
    servers('a SRVGRP="AG"SRVID=1\n'),
    ['f:11:14: a blank must follow the closing quote; a quote inside quotes is written \\"'],
  ],
  [
    'placeholder',
    servers('a SRVGRP=AG SRVID=<id>\nb SRVGRP=AG SRVID=0\n'),
    [
      'f:11:19: <id> is a placeholder: replace it, brackets included, by a value',
      `f:12:19: SRVID: 0 is not legal; ${number(1, 30000)}`,
    ],
  ],
  [
    'placeholder as name',
    servers('<server> SRVGRP=AG SRVID=1\n'),
    ['f:11:1: <server> is a placeholder: replace it, brackets included, by a value'],
  ],
  [
    'C comment',
    servers('/* a\n b */ a SRVGRP=AG SRVID=1\n'),
    ['f:11:1: /* */ is not a comment here; a comment starts with #'],
  ],
  [
    'C comment never closed',
    servers('/* a\na SRVGRP=AG SRVID=1\n'),
    ['f:11:1: /* */ is not a comment here; a comment starts with #'],
  ],
  [
    'C++ comment',
    servers('// a\na SRVGRP=AG SRVID=1\n'),
    ['f:11:1: // is not a comment here; a comment starts with #'],
  ],
  [
    'shell: pipe',
    servers('ls | more\n'),
    ['f:11:4: | is no UBBCONFIG text; legal: *SECTION, NAME KEY=value, "text in quotes", # comment'],
  ],
  [
    'shell before the first section',
    `set -e\nexport A=B\n${ubb()}`,
    ['f:1:1: set stands before the first section; a file starts with *RESOURCES'],
  ],
  [
    'shell words',
    servers('echo hello\n'),
    [
      'f:11:1: echo has no SRVGRP; it is required',
      'f:11:1: echo has no SRVID; it is required',
      'f:11:6: hello is neither a key nor a value; legal after a name: KEY=value',
    ],
  ],
  [
    'binary',
    servers('a SRVGRP=AG SRVID=1\n\u0001\u0002\n'),
    ['f:12:1: byte 0x01 does not belong in a text file (ASCII or UTF-8 is expected); reading stops here'],
  ],
  [
    'letters outside ASCII, bare',
    servers('a SRVGRP=AG SRVID=1 RCMD=über\n'),
    ['f:11:26: über: letters outside ASCII must stand in double quotes'],
  ],
  [
    'control character in quotes',
    servers('a SRVGRP=AG SRVID=1 CLOPT="-A\u0007"\n'),
    ['f:11:30: byte 0x07 may not stand in a value; legal are printable characters, tab and line end'],
  ],
  [
    'backslash at a line end',
    servers('a SRVGRP=AG \\\n  SRVID=1\n'),
    ['f:11:13: a backslash does not continue a line; indent the next line by a blank or tab instead'],
  ],
  [
    'key without value',
    servers('a SRVGRP= SRVID=1\n'),
    ['f:11:3: SRVGRP has no value; an empty one is written SRVGRP=""'],
  ],
  [
    'key without value at the end',
    servers('a SRVGRP=AG SRVID=1 RCMD=\n'),
    ['f:11:21: RCMD has no value; an empty one is written RCMD=""'],
  ],
  [
    'value with =',
    servers('a SRVGRP=AG SRVID=1 RCMD=a=b MIN=1\n'),
    ['f:11:27: the value of RCMD holds "="; such a value must stand in double quotes'],
  ],
  [
    '= alone',
    servers('a SRVGRP=AG SRVID=1\n = x\n'),
    [
      'f:12:2: "=" without a key; a value that holds "=" must stand in double quotes',
      'f:12:4: x is neither a key nor a value; legal after a name: KEY=value',
    ],
  ],
  [
    'indented word',
    servers('a SRVGRP=AG SRVID=1\n  oops\n'),
    ['f:12:3: oops is neither a key nor a value; legal on an indented line: KEY=value'],
  ],
  [
    'key in quotes',
    servers('a SRVGRP=AG SRVID=1 "MIN"=2\n'),
    [
      'f:11:21: "MIN" is a key in quotes; legal: KEY=value, the key without quotes',
      'f:11:26: "=" without a key; a value that holds "=" must stand in double quotes',
      'f:11:27: 2 is neither a key nor a value; legal after a name: KEY=value',
    ],
  ],
  [
    'parameter before the first entry',
    servers('MIN=2\na SRVGRP=AG SRVID=1\n'),
    ['f:11:1: MIN stands before the first entry of *SERVERS; an entry is NAME KEY=value'],
  ],
  [
    'comma at the end of a list',
    resources('OPTIONS LAN,\nSCANUNIT 5\n'),
    ['f:5:12: nothing follows the comma; a list is A,B'],
  ],
  [
    'entry on the section line',
    ubb({ servers: '*SERVERS a SRVGRP=AG SRVID=1\n' }),
    ['f:10:10: a stands on the line of *SERVERS; its entries start on the next line'],
  ],
];

const SECTIONS: Row[] = [
  [
    'unknown section',
    ubbWith('*SERVER\na b=c\n'),
    [
      'f:12:1: *SERVER is no section of a UBBCONFIG; legal: RESOURCES MACHINES GROUPS NETGROUPS NETWORK RMS SERVERS SERVICES INTERFACES ROUTING QSPACES QUEUES',
    ],
  ],
  ['twice', ubbWith('*SERVERS\n'), ['f:12:1: *SERVERS stands twice, first on line 10; legal is once']],
  [
    'out of order',
    '*MACHINES\n"n" LMID=M1 APPDIR="."\n*RESOURCES\nIPCKEY 40000\nMASTER M1\nMODEL SHM\n',
    ['f:1:1: *MACHINES is out of order; legal: RESOURCES stand before it'],
  ],
  [
    'GROUPS after SERVERS',
    ubb({ groups: '', rest: '*GROUPS\nQG LMID=M1 GRPNO=1 TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:d:S"\n' }),
    ['f:7:1: *SERVERS is out of order; legal: RESOURCES, MACHINES, GROUPS stand before it'],
  ],
  ['empty file', '', ['f: section *RESOURCES is missing', 'f: section *MACHINES is missing']],
  [
    'no machine',
    ubb({ machines: '*MACHINES\n', groups: '', servers: '' }),
    [
      'f:3:8: MASTER: M1 is no LMID of *MACHINES; legal: none is defined',
      'f:5:1: *MACHINES has no machine; legal: "node" LMID=id APPDIR="directory" …',
    ],
  ],
];

describe.each([
  ['syntax', SYNTAX],
  ['sections', SECTIONS],
])('%s', (_title, rows) => {
  test.each(rows)('%s', (_what, text, expected) => {
    expect(faultsOf(text)).toEqual(expected);
  });
});

test('all faults in one run, by place', () => {
  const text = ubb({
    resources: '*RESOURCES\nIPCKEY 1\nMASTER M1\nMODEL XX\n',
    servers: '*SERVERS\na SRVGRP=NO SRVID=0\nTMQFORWARD SRVGRP=QG SRVID=1 MIN=3 MAX=1 CLOPT="-- -i 3"\n',
    services: '*SERVICES\nS PRIO=101\n',
  });
  expect(domainOf(text).faults.map(({ line, column, word }) => `${line}:${column} ${word}`)).toEqual([
    '2:8 1',
    '4:7 XX',
    '11:10 NO',
    '11:19 0',
    '12:40 1',
    '12:48 TMQFORWARD',
    '14:8 101',
  ]);
});

test('a wrong value of a DEFAULT: line is reported once, where it stands', () => {
  const text = servers('DEFAULT: SRVGRP=NO MIN=0\na SRVID=1\nb SRVID=2\n');
  expect(domainOf(text).faults.map(({ line, column }) => `${line}:${column}`)).toEqual(['11:17', '11:24']);
});

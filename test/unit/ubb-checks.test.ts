// What is refused or warned of between entries: names, numbers, groups, ids, queue servers, spaces and queues, with the exact message and
// place.

import { describe, expect, test } from 'vitest';
import { formatFault } from '../../src/ubb/fault.ts';
import { PARAMETERS } from '../../src/ubb/parameters.ts';
import { domainOf, faultsOf, ubb, ubbWith } from '../support/ubb.ts';

type Row = [what: string, text: string, faults: string[]];

const servers = (lines: string): string => ubb({ servers: `*SERVERS\n${lines}` });
const resources = (lines: string): string =>
  ubb({ resources: `*RESOURCES\nIPCKEY 40000\nMASTER M1\nMODEL SHM\n${lines}` });
const groups = (lines: string): string => ubb({ groups: `*GROUPS\n${lines}`, servers: '' });

const number = (min: number, max: number): string =>
  `legal: a number ${min}..${max} (decimal, 0x hex or 0 octal)`;

const CHECKS: Row[] = [
  [
    'unknown parameter',
    ubbWith('*QSPACES\nSPACE SRVGRP=QG SIZE=1\n'),
    [
      'f:13:17: SIZE is no parameter of *QSPACES; legal: SRVGRP ERRORQ PAGES QUEUES TRANS PROCS MSGS ACTIONS NONPERSIST BLOCKING',
    ],
  ],
  [
    'parameter twice',
    servers('a SRVGRP=AG SRVID=1\n SRVID=2\n'),
    ['f:12:2: SRVID stands twice, first on line 11; legal is once'],
  ],
  [
    'RESOURCES keyword twice',
    resources('MODEL MP\n'),
    ['f:5:1: MODEL stands twice, first on line 4; legal is once'],
  ],
  [
    'required',
    ubb({ resources: '*RESOURCES\nMAXGTT 5\n' }),
    [
      'f:1:1: *RESOURCES has no IPCKEY; it is required',
      'f:1:1: *RESOURCES has no MASTER; it is required',
      'f:1:1: *RESOURCES has no MODEL; it is required',
    ],
  ],
  [
    'choice',
    resources('NOTIFY MAYBE\n'),
    ['f:5:8: NOTIFY: MAYBE is not legal; legal: DIPIN, SIGNAL, THREAD, IGNORE'],
  ],
  [
    'flag',
    servers('a SRVGRP=AG SRVID=1 RESTART=yes\n'),
    ['f:11:29: RESTART: yes is not legal; legal: Y or N'],
  ],
  [
    'SCANUNIT',
    resources('SCANUNIT 7\n'),
    ['f:5:10: SCANUNIT: 7 is not legal; legal: a multiple of 5 (or of 2) up to 60'],
  ],
  [
    'BLOCKTIME times SCANUNIT',
    resources('SCANUNIT 60\nBLOCKTIME 1000\n'),
    ['f:6:11: BLOCKTIME: 1000 times SCANUNIT 60 is over 32767 s; legal: 1..546'],
  ],
  ['bad octal', resources('PERM 0999\n'), [`f:5:6: PERM: 0999 is not legal; ${number(1, 511)}`]],
  [
    'MASTER',
    ubb({ resources: '*RESOURCES\nIPCKEY 40000\nMASTER M1,M9\nMODEL SHM\n' }),
    ['f:3:8: MASTER: M9 is no LMID of *MACHINES; legal: M1'],
  ],
  [
    'SHM with two machines',
    ubb({ machines: '*MACHINES\nn LMID=M1 APPDIR="."\nm LMID=M2 APPDIR="."\n' }),
    ['f:7:1: MODEL SHM allows one machine, m is a second one; legal: MODEL MP, or one machine'],
  ],
  [
    'LMID and node twice',
    ubb({
      resources: '*RESOURCES\nIPCKEY 40000\nMASTER M1\nMODEL MP\n',
      machines: '*MACHINES\nn LMID=M1 APPDIR="."\nn LMID=M1 APPDIR="."\n',
    }),
    [
      'f:7:1: machine n stands twice, first on line 6; legal is once',
      'f:7:8: LMID M1 stands twice, first on line 6; legal is once',
    ],
  ],
  [
    'APPDIR empty',
    ubb({ machines: '*MACHINES\nn LMID=M1 APPDIR=":"\n' }),
    ['f:6:18: APPDIR names no directory; legal: "dir" or "dir:dir"'],
  ],
  [
    'GRPNO twice',
    groups('A LMID=M1 GRPNO=7\nB LMID=M1 GRPNO=7\n'),
    ['f:9:17: GRPNO 7 stands twice, first in A on line 8; legal: a free number 1..29999'],
  ],
  [
    'GRPNO range',
    groups('A LMID=M1 GRPNO=30000\n'),
    [`f:8:17: GRPNO: 30000 is not legal; ${number(1, 29999)}`],
  ],
  [
    'group name',
    groups('"A:B" LMID=M1 GRPNO=1\nM1 LMID=M1 GRPNO=2\n"M1" LMID=M1 GRPNO=3\n'),
    [
      'f:8:1: group name A:B is not legal; legal: 1..30 bytes without * , :',
      'f:9:1: the name M1 is taken by LMID M1 on line 6; groups and LMIDs need different names',
      'f:10:1: the name M1 is taken by LMID M1 on line 6; groups and LMIDs need different names',
    ],
  ],
  [
    'LMID of a group',
    groups('A LMID=M2 GRPNO=1\n'),
    ['f:8:8: LMID: M2 is no machine of *MACHINES; legal: M1'],
  ],
  [
    'OPENINFO prefix',
    groups('A LMID=M1 GRPNO=1 TMSNAME=TMS_QM OPENINFO="TUXEDO:x"\n'),
    [
      'f:8:43: OPENINFO of a TMS_QM group must start with TUXEDO/QM:; legal: "TUXEDO/QM:<device>:<space>", or ";" before the space',
    ],
  ],
  [
    'OPENINFO space',
    groups('A LMID=M1 GRPNO=1 TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:d:SPACE67890123456"\n'),
    ['f:8:43: OPENINFO names a queue space of 16 bytes; legal: 1..15'],
  ],
  [
    'one space in two groups',
    groups(
      'A LMID=M1 GRPNO=1 TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:d:S"\nB LMID=M1 GRPNO=2 TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:d;S"\n',
    ),
    ['f:9:43: queue space S belongs to group A on line 8 already; a space has one group'],
  ],
  [
    'SRVGRP',
    servers('a SRVGRP=XX SRVID=1\n'),
    ['f:11:10: SRVGRP: group XX does not exist; legal: a group of *GROUPS'],
  ],
  [
    'SRVID twice',
    servers('a SRVGRP=AG SRVID=1\nb SRVGRP=QG SRVID=1\nc SRVGRP=AG SRVID=1\n'),
    ['f:13:19: SRVID 1 stands twice in group AG, first on line 11; legal: a free number 1..30000'],
  ],
  [
    'MIN > MAX',
    servers('a SRVGRP=AG SRVID=1 MIN=3 MAX=2\n'),
    ['f:11:31: MAX 2 is less than MIN 3; legal: MAX 3..1000'],
  ],
  [
    'MIN > MAX of DEFAULT:',
    servers('DEFAULT: MAX=2\na SRVGRP=AG SRVID=1 MIN=3\n'),
    ['f:12:25: MAX 2 is less than MIN 3; legal: MAX 3..1000'],
  ],
  [
    'MSSQ across groups',
    servers('a SRVGRP=AG SRVID=1 RQADDR=q\nb SRVGRP=QG SRVID=2 RQADDR=q\n'),
    ['f:12:28: RQADDR q is used in group AG too; an MSSQ set stays in one group'],
  ],
  [
    'service group',
    ubbWith('*SERVICES\nS SRVGRP=XX\n'),
    ['f:13:10: SRVGRP: group XX does not exist; legal: a group of *GROUPS'],
  ],
  [
    'service routing',
    ubbWith('*SERVICES\nS ROUTING=R\n'),
    ['f:13:11: ROUTING: criterion R does not exist; legal: an entry of *ROUTING'],
  ],
  [
    'buffer types',
    ubbWith(
      `*SERVICES\nA BUFTYPE="FML;VIEW:v,w;STRING"\nB BUFTYPE=ALL\nC BUFTYPE="FML;"\nD BUFTYPE="FML;;VIEW"\nE BUFTYPE="VIEW:a:b"\n` +
        `F BUFTYPE="VIEW:${Array.from({ length: 32 }, (_, i) => `v${i}`).join(',')}"\n` +
        `G BUFTYPE="FML;VIEW:${Array.from({ length: 32 }, (_, i) => `v${i}`).join(',')}"\n`,
    ),
    [
      'f:16:11: BUFTYPE: FML;;VIEW is not legal; legal: ALL, or TYPE[:SUBTYPE[,SUBTYPE...]][;TYPE...] with at most 32 combinations',
      'f:17:11: BUFTYPE: VIEW:a:b is not legal; legal: ALL, or TYPE[:SUBTYPE[,SUBTYPE...]][;TYPE...] with at most 32 combinations',
      'f:19:11: BUFTYPE: FML;VIEW:v0,v1,v2,v3,v4,v5,v6,v7,v8,v9,v10,v11,v12,v13,v14,v… is not legal; ' +
        'legal: ALL, or TYPE[:SUBTYPE[,SUBTYPE...]][;TYPE...] with at most 32 combinations',
    ],
  ],
  [
    'service name',
    ubbWith(`*SERVICES\n${'S'.repeat(128)}\n`),
    [`f:13:1: service name ${'S'.repeat(60)}… has 128 bytes; legal: 1..127`],
  ],
];

const QUEUED: Row[] = [
  [
    'TMQUEUE without TMS_QM',
    servers('TMQUEUE SRVGRP=AG SRVID=1\n'),
    ['f:11:1: TMQUEUE needs a group with TMSNAME=TMS_QM and OPENINFO; group AG has no TMS_QM'],
  ],
  [
    'TMQFORWARD without OPENINFO',
    ubb({
      groups: '*GROUPS\nQG LMID=M1 GRPNO=1 TMSNAME=TMS_QM\n',
      servers: '*SERVERS\nTMQFORWARD SRVGRP=QG SRVID=1 CLOPT="-- -q A"\n',
    }),
    ['f:10:1: TMQFORWARD needs a group with TMSNAME=TMS_QM and OPENINFO; group QG has no OPENINFO'],
  ],
  [
    'alias list the wrong way round',
    servers('TMQUEUE SRVGRP=QG SRVID=1 CLOPT="-s TMQUEUE:SPACE -- -t 3"\n'),
    ['f:11:37: -s TMQUEUE:SPACE: the alias list stands the wrong way round; legal: -s SPACE:TMQUEUE'],
  ],
  [
    'alias without function',
    servers('TMQUEUE SRVGRP=QG SRVID=1 CLOPT="-A -sSPACE"\n'),
    ['f:11:39: -s SPACE: TMQUEUE has no function SPACE; legal: -s SPACE:TMQUEUE'],
  ],
  [
    'unknown function',
    servers('TMQUEUE SRVGRP=QG SRVID=1 CLOPT="-s A,B:QUEUE"\n'),
    ['f:11:37: -s A,B:QUEUE: TMQUEUE has no function QUEUE; legal: -s A,B:TMQUEUE'],
  ],
  [
    'blanks in an alias list',
    servers('TMQUEUE SRVGRP=QG SRVID=1 CLOPT="-s A:TMQUEUE, B:TMQUEUE"\n'),
    [
      'f:11:37: -s A:TMQUEUE,: TMQUEUE has no function TMQUEUE,; legal: -s A:TMQUEUE',
      'f:11:48: CLOPT before "--": B:TMQUEUE belongs to no option; blanks may not stand in a list, server options stand after "--"',
    ],
  ],
  [
    'unknown option',
    servers('TMQUEUE SRVGRP=QG SRVID=1 CLOPT="-A --\n -z"\n'),
    ['f:12:3: TMQUEUE: -z is no option here; legal: -t x'],
  ],
  [
    'option without argument',
    servers('TMQFORWARD SRVGRP=QG SRVID=1 CLOPT="-- -i 3 -q"\n'),
    ['f:11:46: TMQFORWARD: -q needs an argument'],
  ],
  [
    'forwarder without -q',
    servers('TMQFORWARD SRVGRP=QG SRVID=1 CLOPT="-A -- -i 3"\n'),
    ['f:11:36: TMQFORWARD has no queue list; legal: CLOPT="-- -q QUEUE[,QUEUE...]"'],
  ],
  [
    'forwarder without CLOPT',
    servers('TMQFORWARD SRVGRP=QG SRVID=1\n'),
    ['f:11:1: TMQFORWARD has no queue list; legal: CLOPT="-- -q QUEUE[,QUEUE...]"'],
  ],
  [
    'empty queue name',
    servers('TMQFORWARD SRVGRP=QG SRVID=1 CLOPT="-- -q A,,B"\n'),
    ['f:11:45: queue name "" has 0 bytes; legal: 1..127, a list is A,B without blanks'],
  ],
  [
    'long queue name',
    servers(`TMQFORWARD SRVGRP=QG SRVID=1 CLOPT="-- -q ${'A'.repeat(128)}"\n`),
    [`f:11:43: queue name "${'A'.repeat(60)}…" has 128 bytes; legal: 1..127, a list is A,B without blanks`],
  ],
  [
    'forwarder with REPLYQ',
    servers('TMQFORWARD SRVGRP=QG SRVID=1 REPLYQ=Y CLOPT="-- -q A"\n'),
    ['f:11:37: REPLYQ=Y is not legal for TMQFORWARD; legal: REPLYQ=N'],
  ],
  [
    'forwarder in an MSSQ set',
    servers(
      'DEFAULT: RQADDR=x\nTMQFORWARD SRVGRP=QG SRVID=1 CLOPT="-- -q A"\nTMQFORWARD SRVGRP=QG SRVID=2 CLOPT="-- -q A"\n',
    ),
    ['f:11:17: RQADDR x: TMQFORWARD may not be part of an MSSQ set; legal: no RQADDR, or one of its own'],
  ],
  [
    'forwarder an MSSQ set by itself',
    servers('TMQFORWARD SRVGRP=QG SRVID=1 MIN=2 RQADDR=x CLOPT="-- -q A"\n'),
    ['f:11:43: RQADDR x: TMQFORWARD may not be part of an MSSQ set; legal: no RQADDR, or one of its own'],
  ],
  [
    'listen address',
    servers('WSL SRVGRP=AG SRVID=1 CLOPT="-A -- -n host:1 -n //h:65536"\n'),
    [
      'f:11:39: -n: host:1 is no address; legal: //host:port with a port 0..65535, or 0x0002 followed by port and IPv4 address in hex',
      'f:11:49: -n: //h:65536 is no address; legal: //host:port with a port 0..65535, or 0x0002 followed by port and IPv4 address in hex',
    ],
  ],
  [
    "space is not its group's",
    ubbWith('*QSPACES\nOTHER SRVGRP=QG\n'),
    ['f:13:1: queue space OTHER is not the one of group QG; legal: SPACE, the space in its OPENINFO'],
  ],
  [
    'space in a plain group',
    ubbWith('*QSPACES\nSPACE SRVGRP=AG\n'),
    ['f:13:14: SRVGRP: group AG holds no queue space; legal: a group with TMSNAME=TMS_QM and OPENINFO'],
  ],
  [
    'space twice',
    ubbWith('*QSPACES\nSPACE SRVGRP=QG\nSPACE SRVGRP=QG\n'),
    ['f:14:1: queue space SPACE stands twice for group QG, first on line 13; legal is once'],
  ],
  [
    'space name',
    ubbWith('*QSPACES\nSPACE67890123456 SRVGRP=QG\n'),
    [
      'f:13:1: name "SPACE67890123456" is not legal (16 bytes); legal: 1..15 bytes without control characters',
      'f:13:1: queue space SPACE67890123456 is not the one of group QG; legal: SPACE, the space in its OPENINFO',
    ],
  ],
  [
    'size',
    ubbWith('*QSPACES\nSPACE SRVGRP=QG NONPERSIST="64M"\n'),
    ['f:13:28: NONPERSIST: 64M is not legal; legal: a number with b (bytes), B (blocks), k, m or g'],
  ],
];

const QUEUE = (line: string): string => ubbWith(`*QSPACES\nSPACE SRVGRP=QG\n*QUEUES\n${line}\n`);
const QUEUES: Row[] = [
  ['no space', QUEUE('Q'), ['f:15:1: Q has no QSPACE; it is required']],
  ['unknown space', QUEUE('Q QSPACE=X'), ['f:15:10: QSPACE: X is no space of *QSPACES; legal: SPACE']],
  [
    'twice',
    QUEUE('Q QSPACE=SPACE\nQ QSPACE=SPACE'),
    ['f:16:1: queue Q stands twice in space SPACE, first on line 15; legal is once'],
  ],
  [
    'name',
    QUEUE(`"${'ä'.repeat(64)}" QSPACE=SPACE\n"a\nb" QSPACE=SPACE\n"" QSPACE=SPACE`),
    [
      `f:15:1: name "${'ä'.repeat(60)}…" is not legal (128 bytes); legal: 1..127 bytes without control characters`,
      'f:16:1: name "a?b" is not legal (3 bytes); legal: 1..127 bytes without control characters',
      'f:18:1: name "" is not legal (0 bytes); legal: 1..127 bytes without control characters',
    ],
  ],
  [
    'ORDER',
    QUEUE('Q QSPACE=SPACE ORDER="fifo,time"'),
    [
      'f:15:22: ORDER: fifo,time is not legal; legal: a list of priority, time, expiration, each once, then optionally fifo or lifo',
    ],
  ],
  [
    'OUTOFORDER',
    QUEUE('Q QSPACE=SPACE OUTOFORDER="top,none"'),
    ['f:15:27: OUTOFORDER: top,none is not legal; legal: none, top, msgid, or top,msgid'],
  ],
  [
    'EXPIRY',
    QUEUE('Q QSPACE=SPACE EXPIRY=soon'),
    ['f:15:23: EXPIRY: soon is not legal; legal: none, or seconds 0..2147483647'],
  ],
  [
    'HIGH',
    QUEUE('Q QSPACE=SPACE HIGH=100'),
    ['f:15:21: HIGH: 100 is not legal; legal: a number with b, B, m or %, such as 80% or 100m'],
  ],
  [
    'HIGH zero',
    QUEUE('Q QSPACE=SPACE HIGH=0m'),
    ['f:15:21: HIGH: 0m is not legal; legal: more than 0, with b, B, m or %'],
  ],
  [
    'HIGH over 100 %',
    QUEUE('Q QSPACE=SPACE HIGH=101%'),
    ['f:15:21: HIGH: 101% is not legal; legal: a percentage of at most 100'],
  ],
  [
    'LOW of another unit',
    QUEUE('Q QSPACE=SPACE HIGH=5m LOW=0%'),
    ['f:15:28: LOW: 0% is not legal; the low limit must have the unit of the high one (m), or be a bare 0'],
  ],
  [
    'LOW not lower',
    QUEUE('Q QSPACE=SPACE HIGH=5m LOW=5m'),
    ['f:15:28: LOW: 5m is not legal; the low limit must be lower than the high one'],
  ],
  [
    'CMD too long',
    QUEUE(`Q QSPACE=SPACE CMD="${'x'.repeat(128)}"`),
    [`f:15:20: CMD: ${'x'.repeat(60)}… is not legal; legal: a text of 0..127 bytes, this has 128`],
  ],
  [
    'POLICY',
    QUEUE('Q QSPACE=SPACE POLICY=PERSIST'),
    ['f:15:23: POLICY: PERSIST is not legal; legal: persist, nonpersist'],
  ],
];

const MISSPELT: Row[] = [
  [
    'a required parameter: named once, with what may be meant',
    servers('a SRVGRP=AG SVRID=1\n'),
    [
      `f:11:13: SVRID is no parameter of *SERVERS (SRVID?); legal: ${Object.keys(PARAMETERS.SERVERS ?? {}).join(' ')}`,
    ],
  ],
];

describe.each([
  ['checks', CHECKS],
  ['queued-message servers and spaces', QUEUED],
  ['queues', QUEUES],
  ['misspelt', MISSPELT],
])('%s', (_title, rows) => {
  test.each(rows)('%s', (_what, text, expected) => {
    expect(faultsOf(text)).toEqual(expected);
  });
});

describe('warnings', () => {
  const rows: Row[] = [
    [
      '-t that is no number',
      servers('TMQUEUE SRVGRP=QG SRVID=1 CLOPT="-- -t abc"\n'),
      ['f:11:40: -t: abc is no number of seconds 0..2147483647; ignored, the default 30 is used'],
    ],
    [
      '-i too large',
      servers('TMQFORWARD SRVGRP=QG SRVID=1 CLOPT="-- -qA -i2147483648"\n'),
      ['f:11:46: -i: 2147483648 is no number of seconds 0..2147483647; ignored, the default 30 is used'],
    ],
    [
      'backslash at a line end in quotes',
      servers('a SRVGRP=AG SRVID=1 CLOPT="-A \\\n -x"\n'),
      [
        'f:11:31: a backslash at the end of a line does not join lines; inside quotes it is kept, and so is the line end',
      ],
    ],
    [
      'SRVID inside the range of another',
      servers('a SRVGRP=AG SRVID=1 MAX=3\nb SRVGRP=AG SRVID=3\n'),
      ['f:12:1: SRVID 3 is also taken by instance 3 of a on line 11; leave gaps of MAX'],
    ],
    [
      'service twice',
      ubbWith('*SERVICES\nS\nS PRIO=2\n'),
      ['f:14:1: service S stands twice, first on line 13; the first counts'],
    ],
    [
      'TMS_QM without OPENINFO',
      groups('A LMID=M1 GRPNO=1 TMSNAME=TMS_QM\n'),
      ['f:8:1: A has TMS_QM but no OPENINFO: it holds no queue space'],
    ],
    [
      'error queue not declared',
      ubbWith('*QSPACES\nSPACE SRVGRP=QG ERRORQ=E\n'),
      ['f:13:24: ERRORQ: E is no queue of *QUEUES in SPACE; it must be created by qmadmin'],
    ],
    [
      'forwarded queue not declared',
      ubb({
        servers: '*SERVERS\nTMQFORWARD SRVGRP=QG SRVID=1 CLOPT="-- -q A"\n',
        rest: '*QSPACES\nSPACE SRVGRP=QG\n',
      }),
      ['f:11:43: queue A is no queue of *QUEUES in SPACE; it must be created by qmadmin'],
    ],
  ];
  test.each(rows)('%s', (_what, text, expected) => {
    expect(faultsOf(text)).toEqual([]);
    expect(domainOf(text).warnings.map(formatFault)).toEqual(expected);
  });
});

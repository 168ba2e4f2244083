// Public UBBCONFIG files, read from ../shared/ubb (or $TMQUEUE_SHARED/ubb) when they are there: each must be accepted as it stands, and the
// files with queue servers give the plan written here.

import { existsSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { formatFault } from '../../src/ubb/fault.ts';
import { planHost } from '../../src/ubb/plan.ts';
import { readDomain } from '../../src/ubb/read.ts';

const root = new URL('../../', import.meta.url).pathname;
const folder = `${process.env['TMQUEUE_SHARED'] ?? `${root}../shared`}/ubb`;
const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.ubb')) : [];

interface Expected {
  readonly lmid: string;
  readonly spaces: string[];
  readonly aliases: string[];
  readonly forwarders: string[];
  readonly applications: string[];
  readonly macros: string[];
}

/** Lines and words of the warnings; none where a file is not listed. */
const WARNINGS: Record<string, string[]> = {
  '08-tuxapp-queue.ubb': ['118 ROUT1'],
};

const EXPECTED: Record<string, Expected> = {
  '08-tuxapp-queue.ubb': {
    lmid: 'MACH1',
    spaces: ['MYSPACE'],
    aliases: ['QGRP1 40 MYSPACE 30'],
    forwarders: ['QGRP1 1120 TXLOG t60 i2'],
    applications: ['entrysv NULLGRP 100 5', 'txlogsv ORAGRP1 200 5', 'txlogsv ORAGRP2 300 5'],
    macros: [],
  },
  '13-packt-ch08.ubb': {
    lmid: 'tuxapp',
    spaces: ['QSPACE'],
    aliases: ['GROUP1 1 QSPACE 30'],
    forwarders: ['GROUP1 3 REQ t60 i1'],
    applications: ['proc.py GROUP2 3 1'],
    macros: ['@CURDIR@', '@CURDIR@', '@CURDIR@'],
  },
  '16-packt-ch11.ubb': {
    lmid: 'tuxapp',
    spaces: ['QSPACE'],
    aliases: ['GROUP2 3 QSPACE 30'],
    forwarders: ['GROUP2 4 GETRATES,GETRATES_DONE t60 i1'],
    applications: ['ecb.py GROUP1 1 1', 'app.py GROUP1 2 1', 'out.py GROUP1 10 1'],
    macros: ['@CURDIR@', '@CURDIR@', '@CURDIR@'],
  },
  '29-docker-ws-ssl.ubb': {
    lmid: 'site1',
    spaces: [],
    aliases: [],
    forwarders: [],
    applications: ['serverws APPGRP 1 1', 'simpserv APPGRP 3 1'],
    macros: ['$APPDIR', '${WSNADDR}', '${NATADDR_OPT}', '${SSL_PORT}'],
  },
};

test('the folder is looked for', () => {
  expect(folder.endsWith('/ubb')).toBe(true);
});

for (const name of files) {
  test(`${name} is accepted as it stands`, () => {
    const domain = readDomain(`${folder}/${name}`);
    expect(domain.faults.map(formatFault)).toEqual([]);
    expect(domain.warnings.map(({ line, word }) => `${line} ${word}`)).toEqual(WARNINGS[name] ?? []);
    expect(domain.notYet).toEqual([]);
    const result = planHost(domain, { hostname: 'elsewhere' });
    if (!result.ok) throw new Error(formatFault(result.fault));
    const { plan } = result;
    const expected = EXPECTED[name];
    if (expected === undefined) return;
    expect({
      lmid: plan.lmid,
      spaces: plan.spaces.map((space) => space.name),
      aliases: plan.tmqueues.map(
        ({ group, srvid, aliases, timeoutS }) => `${group} ${srvid} ${aliases.join(',')} ${timeoutS}`,
      ),
      forwarders: plan.forwarders.map(
        ({ group, srvid, queues, timeoutS, idleS }) =>
          `${group} ${srvid} ${queues.join(',')} t${timeoutS} i${idleS}`,
      ),
      applications: plan.applicationServers.map(
        ({ name: server, group, srvid, min }) => `${server} ${group} ${srvid} ${min}`,
      ),
      macros: plan.macros.map((macro) => macro.word),
    }).toEqual(expected);
  });
}

// The table of parameters against the ranges and defaults of tuxedo-q.md sections 5.3, 5.4 and 6.2 to 6.5, written down here a second
// time: each limit is accepted, one beyond it refused; texts likewise.

import { describe, expect, test } from 'vitest';
import { PARAMETERS, ruleOf } from '../../src/ubb/parameters.ts';
import { isSectionName, type SectionName } from '../../src/ubb/sections.ts';
import { domainOf, ubb } from '../support/ubb.ts';

const INT = 2_147_483_647;

/** A file in which one parameter of a section has one value; the other required ones are there. */
function fileWith(section: SectionName, key: string, value: string): string {
  const needed: Partial<Record<SectionName, Record<string, string>>> = {
    RESOURCES: { IPCKEY: '40000', MASTER: 'M1', MODEL: 'SHM' },
    MACHINES: { LMID: 'M1', APPDIR: '"app"' },
    GROUPS: { LMID: 'M1', GRPNO: '3' },
    SERVERS: { SRVGRP: 'AG', SRVID: '5' },
    QSPACES: { SRVGRP: 'QG' },
    QUEUES: { QSPACE: 'SPACE' },
  };
  const all = { ...needed[section], [key]: value };
  const words = Object.entries(all).map(([name, text]) => `${name}=${text}`);
  if (section === 'RESOURCES') {
    return ubb({
      resources: `*RESOURCES\n${Object.entries(all)
        .map(([name, text]) => `${name} ${text}\n`)
        .join('')}`,
    });
  }
  const line = words.join(' ');
  if (section === 'MACHINES') return ubb({ machines: `*MACHINES\n"n" ${line}\n` });
  if (section === 'GROUPS') return ubb({ groups: `*GROUPS\nGX ${line}\n`, servers: '' });
  if (section === 'SERVERS') return ubb({ servers: `*SERVERS\na ${line}\n` });
  if (section === 'SERVICES') return ubb({ services: `*SERVICES\nS ${line}\n` });
  const space = section === 'QSPACES' ? `SPACE ${line}` : 'SPACE SRVGRP=QG';
  return ubb({ rest: `*QSPACES\n${space}\n*QUEUES\n${section === 'QUEUES' ? `Q ${line}\n` : ''}` });
}

const problems = (section: SectionName, key: string, value: string): string[] =>
  domainOf(fileWith(section, key, value)).faults.map((fault) => fault.message);

const NUMBERS: [section: SectionName, key: string, min: number, max: number, fallback: number][] = [
  ['RESOURCES', 'IPCKEY', 32_769, 262_143, 32_769],
  ['RESOURCES', 'UID', 0, INT, 0],
  ['RESOURCES', 'GID', 0, INT, 0],
  ['RESOURCES', 'PERM', 1, 0o777, 0o666],
  ['RESOURCES', 'MAXACCESSERS', 1, 32_767, 50],
  ['RESOURCES', 'MAXSERVERS', 1, 8191, 50],
  ['RESOURCES', 'MAXSERVICES', 1, 32_767, 100],
  ['RESOURCES', 'MAXQUEUES', 1, 8191, 50],
  ['RESOURCES', 'MAXGROUPS', 100, 32_767, 100],
  ['RESOURCES', 'MAXNETGROUPS', 1, 8191, 8],
  ['RESOURCES', 'MAXGTT', 0, 32_767, 100],
  ['RESOURCES', 'MAXCONV', 0, 32_767, 64],
  ['RESOURCES', 'MAXBUFTYPE', 1, 32_767, 16],
  ['RESOURCES', 'MAXBUFSTYPE', 1, 32_767, 32],
  ['RESOURCES', 'MAXTRANTIME', 0, INT, 0],
  ['MACHINES', 'TLOGSIZE', 1, 2048, 100],
  ['MACHINES', 'MAXWSCLIENTS', 0, 32_767, 0],
  ['MACHINES', 'MAXACLCACHE', 10, 32_000, 100],
  ['MACHINES', 'MAXGTT', 0, 32_767, 100],
  ['GROUPS', 'GRPNO', 1, 29_999, 1],
  ['GROUPS', 'TMSCOUNT', 2, 10, 3],
  ['SERVERS', 'SRVID', 1, 30_000, 1],
  ['SERVERS', 'SEQUENCE', 1, 10_000, 1],
  ['SERVERS', 'MIN', 1, 1000, 1],
  ['SERVERS', 'MAX', 1, 1000, 1],
  ['SERVERS', 'MAXGEN', 1, 256, 1],
  ['SERVERS', 'GRACE', 0, INT, 86_400],
  ['SERVERS', 'RQPERM', 1, 0o777, 0o666],
  ['SERVICES', 'LOAD', 1, 32_767, 50],
  ['SERVICES', 'PRIO', 1, 100, 50],
  ['SERVICES', 'SVCTIMEOUT', 0, INT, 0],
  ['SERVICES', 'TRANTIME', 0, INT, 30],
  ['QSPACES', 'BLOCKING', 1, 100, 16],
  ['QSPACES', 'PAGES', 0, INT, 0],
  ['QUEUES', 'RETRIES', 0, INT, 0],
  ['QUEUES', 'DELAY', 0, INT, 0],
];

describe.each(NUMBERS)('%s %s', (section, key, min, max, fallback) => {
  test('range and default', () => {
    expect(ruleOf(section, key)).toMatchObject({ type: 'number', min, max, fallback });
    expect(problems(section, key, `${min}`)).toEqual([]);
    expect(problems(section, key, `0x${max.toString(16)}`)).toEqual([]);
    const legal = `legal: a number ${min}..${max} (decimal, 0x hex or 0 octal)`;
    for (const value of [min - 1, max + 1]) {
      expect(problems(section, key, `${value}`)).toEqual([`${key}: ${value} is not legal; ${legal}`]);
    }
    expect(problems(section, key, 'many')).toEqual([`${key}: many is not legal; ${legal}`]);
  });
});

const TEXTS: [section: SectionName, key: string, min: number, max: number][] = [
  ['RESOURCES', 'DOMAINID', 0, 30],
  ['MACHINES', 'APPDIR', 1, 256],
  ['MACHINES', 'TUXDIR', 2, 256],
  ['MACHINES', 'TUXCONFIG', 2, 256],
  ['MACHINES', 'TYPE', 0, 15],
  ['GROUPS', 'TMSNAME', 0, 256],
  ['GROUPS', 'OPENINFO', 0, 256],
  ['SERVERS', 'CLOPT', 0, 1024],
  ['SERVERS', 'RQADDR', 0, 30],
  ['SERVERS', 'RCMD', 0, 256],
  ['QSPACES', 'ERRORQ', 0, 127],
  ['QUEUES', 'CMD', 0, 127],
];

test.each(TEXTS)('%s %s: %i..%i bytes', (section, key, min, max) => {
  expect(problems(section, key, `"${'x'.repeat(max)}"`)).toEqual([]);
  expect(problems(section, key, `"${'x'.repeat(max + 1)}"`)).toHaveLength(1);
  if (min > 0) expect(problems(section, key, `"${'x'.repeat(min - 1)}"`)).toHaveLength(1);
});

const CHOICES: [section: SectionName, key: string, legal: string[], fallback: string][] = [
  ['RESOURCES', 'MODEL', ['SHM', 'MP'], 'SHM'],
  ['RESOURCES', 'SECURITY', ['NONE', 'APP_PW', 'USER_AUTH', 'ACL', 'MANDATORY_ACL'], 'NONE'],
  ['RESOURCES', 'NOTIFY', ['DIPIN', 'SIGNAL', 'THREAD', 'IGNORE'], 'DIPIN'],
  ['RESOURCES', 'USIGNAL', ['SIGUSR1', 'SIGUSR2'], 'SIGUSR2'],
  ['RESOURCES', 'CMTRET', ['COMPLETE', 'LOGGED'], 'COMPLETE'],
  ['QUEUES', 'POLICY', ['persist', 'nonpersist'], 'persist'],
];

test.each(CHOICES)('%s %s', (section, key, legal, fallback) => {
  expect(ruleOf(section, key)?.fallback).toBe(fallback);
  for (const value of legal) expect(problems(section, key, value)).toEqual([]);
  expect(problems(section, key, 'Other')).toHaveLength(1);
});

test.each([
  ['RESOURCES', 'LDBAL', true],
  ['SERVERS', 'CONV', false],
  ['SERVERS', 'REPLYQ', false],
  ['SERVERS', 'RESTART', false],
  ['SERVICES', 'AUTOTRAN', false],
] as const)('%s %s is Y or N', (section, key, fallback) => {
  expect(ruleOf(section, key)).toMatchObject({ type: 'flag', fallback });
  expect(problems(section, key, 'Y')).toEqual([]);
  expect(problems(section, key, 'N')).toEqual([]);
  expect(problems(section, key, 'y')).toHaveLength(1);
});

test('every parameter that has no meaning here is a note and no fault, with any plain value it may have', () => {
  for (const [section, rules] of Object.entries(PARAMETERS)) {
    for (const [key, rule] of Object.entries(rules)) {
      if (rule.type !== 'anything' || !isSectionName(section) || section === 'ROUTING') continue;
      const domain = domainOf(fileWith(section, key, '"what ever"'));
      expect(domain.faults).toEqual([]);
      expect(domain.notes.map((note) => note.word)).toContain(key);
    }
  }
});

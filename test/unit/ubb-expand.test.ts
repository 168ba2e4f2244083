// --expand-env: variables in names and values, only when asked; unset and circular ones are faults [ubb-syntax].

import { expect, test } from 'vitest';
import { parseDomain } from '../../src/ubb/domain.ts';
import type { Environment } from '../../src/ubb/expand.ts';
import { formatFault } from '../../src/ubb/fault.ts';
import type { Domain } from '../../src/ubb/model.ts';
import { planHost } from '../../src/ubb/plan.ts';
import { domainOf, ubb } from '../support/ubb.ts';

const expanded = (text: string, env: Environment): Domain =>
  parseDomain({ file: 'f', directory: '/conf', bytes: new TextEncoder().encode(text), env });

const text = ubb({
  resources: '*RESOURCES\nIPCKEY $KEY\nMASTER M1\nMODEL SHM\nMAXGTT ${GTT}\n',
  machines: '*MACHINES\n"$HOST" LMID=M1 APPDIR="${ROOT}/app"\n',
  servers:
    '*SERVERS\nDEFAULT: SRVGRP=$GROUP\na SRVID=1 RCMD="echo $HOME"\nb SRVID=2\nWSL SRVID=3 CLOPT="-- -n $ADDR"\n',
});
const env: Environment = {
  KEY: '40000',
  GTT: '0x10',
  HOST: 'h1',
  ROOT: '${BASE}/x',
  BASE: '/srv',
  GROUP: 'AG',
  ADDR: '//h:5',
};

test('names, values, defaults, and variables inside variables', () => {
  const domain = expanded(text, env);
  expect(domain.faults).toEqual([]);
  expect(domain.macros).toEqual([]);
  const result = planHost(domain, { hostname: 'h1' });
  if (!result.ok) throw new Error(formatFault(result.fault));
  expect([result.plan.appdir, result.plan.maxGtt, result.plan.listen]).toEqual([
    '/srv/x/app',
    16,
    [{ host: 'h', port: 5, line: 15 }],
  ]);
  expect(domain.servers.map((server) => server.group)).toEqual(['AG', 'AG', 'AG']);
});

test('the shell keeps its own variables', () => {
  expect(expanded(text, env).servers[0]?.rcmd).toBe('echo $HOME');
});

test('nothing is expanded unless asked', () => {
  expect(domainOf(text).macros.map((macro) => macro.word)).toEqual([
    '$KEY',
    '${GTT}',
    '$HOST',
    '${ROOT}',
    '$GROUP',
    '$ADDR',
  ]);
});

test.each<[what: string, change: Environment, fault: string]>([
  ['unset', { GTT: undefined }, 'f:5:8: the environment variable GTT is not set; set it, or write its value'],
  [
    'unset inside',
    { BASE: undefined },
    'f:7:24: the environment variable BASE is not set; set it, or write its value',
  ],
  ['refers to itself', { GTT: '1$GTT' }, 'f:5:8: the environment variable GTT refers to itself'],
  ['a circle', { BASE: '$ROOT' }, 'f:7:24: the environment variable ROOT refers to itself'],
  [
    'a value of the wrong type',
    { GTT: 'many' },
    'f:5:8: MAXGTT: many is not legal; legal: a number 0..32767 (decimal, 0x hex or 0 octal)',
  ],
  [
    'a fault inside an expanded value',
    { ADDR: 'x' },
    'f:15:20: -n: x is no address; legal: //host:port with a port 0..65535, or 0x0002 followed by port and IPv4 address in hex',
  ],
])('%s', (_what, change, fault) => {
  expect(expanded(text, { ...env, ...change }).faults.map(formatFault)).toEqual([fault]);
});

test('variables that double each other stop at a limit', () => {
  const bomb: Record<string, string> = { V0: 'xxxxxxxxxx' };
  for (let i = 1; i <= 40; i += 1) bomb[`V${i}`] = `$V${i - 1}$V${i - 1}`;
  const { faults } = expanded(ubb({ machines: '*MACHINES\nn LMID=M1 APPDIR="$V40"\n' }), bomb);
  expect(faults.map(formatFault)).toEqual(['f:6:18: the value is over 65536 characters when expanded']);
});

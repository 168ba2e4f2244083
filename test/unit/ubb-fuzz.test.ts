// Broken input: mutations of valid files never crash or hang the reader, and an error put at a random line of a long file is reported
// at that line. Bounded by time; the seed is printed and can be given back by UBB_SEED.
//
//     UBB_FUZZ_MS=60000 UBB_ERRORS=1000 npx vitest run --config config/vitest.config.ts test/unit/ubb-fuzz

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { formatFault } from '../../src/ubb/fault.ts';
import { parseDomain } from '../../src/ubb/domain.ts';
import type { Domain } from '../../src/ubb/model.ts';
import { obstaclesOf, planHost } from '../../src/ubb/plan.ts';
import { printModel } from '../../src/ubb/printed-model.ts';
import { domainOf, faultsOf, random } from '../support/ubb.ts';

const root = new URL('../../', import.meta.url).pathname;
const FUZZ_MS = Number(process.env['UBB_FUZZ_MS'] ?? 2000);
const ERRORS = Number(process.env['UBB_ERRORS'] ?? 100);
const SEED = Number(process.env['UBB_SEED'] ?? Date.now() % 2 ** 31);
const SHARED = `${process.env['TMQUEUE_SHARED'] ?? `${root}../shared`}/ubb`;
const sharedFiles = existsSync(SHARED) ? readdirSync(SHARED).filter((name) => name.endsWith('.ubb')) : [];

const example = readFileSync(`${root}ubbconfig.example`, 'utf8');
const ownSamples = readdirSync(`${root}config/samples`);
const samples = [
  example,
  ...ownSamples.map((name) => readFileSync(`${root}config/samples/${name}`, 'utf8')),
  ...sharedFiles.map((name) => readFileSync(`${SHARED}/${name}`, 'utf8')),
];

/** As with --expand-env; the variables are those of the snippets, one of them with odd contents. */
function expandedDomainOf(bytes: Uint8Array): Domain {
  return parseDomain({ file: 'f', directory: '/conf', bytes, env: { A: 'x"\\\n=,$B', B: '', APPDIR: '.' } });
}

const SNIPPETS = [
  '"',
  '\\',
  '\\"',
  '=',
  '==',
  ',',
  '#',
  '*',
  '*SERVERS\n',
  '*X\n',
  'DEFAULT:',
  'DEFAULT:\n',
  '\n',
  '\r',
  '\r\n',
  '\t',
  ' ',
  '<',
  '<a>',
  '>',
  '/*',
  '*/',
  '//',
  '$A',
  '${A}',
  '${',
  '@A@',
  '\0',
  '\u0007',
  'é',
  '\ufeff',
  '漢',
  '-- ',
  '-q',
  '-s ',
  ':TMQUEUE',
  '0x',
  '99999999999999999999',
  'SRVID=',
  'KEY=VALUE',
  'TMQUEUE ',
  'TMQFORWARD SRVGRP=QUE1 SRVID=9 CLOPT="',
  'LMID=',
  '"" ',
  'RQADDR=x ',
  'MIN=5 MAX=1 ',
  '%',
  '|',
  '`',
  "'",
];

/** One to eight changes: bytes flipped, cut, doubled, swapped, snippets put in. */
function mutate(text: string, below: (n: number) => number): Uint8Array {
  let bytes = new TextEncoder().encode(text);
  for (let changes = 1 + below(8); changes > 0; changes -= 1) {
    const at = below(bytes.length + 1);
    const end = Math.min(bytes.length, at + 1 + below(40));
    const head = bytes.subarray(0, at);
    const tail = bytes.subarray(at);
    const kind = below(5);
    if (kind === 0)
      bytes = Uint8Array.from([...head, below(256), ...bytes.subarray(Math.min(bytes.length, at + 1))]);
    else if (kind === 1) bytes = Uint8Array.from([...head, ...bytes.subarray(end)]);
    else if (kind === 2) bytes = Uint8Array.from([...head, ...bytes.subarray(at, end), ...tail]);
    else if (kind === 3)
      bytes = Uint8Array.from([
        ...head,
        ...new TextEncoder().encode(SNIPPETS[below(SNIPPETS.length)] ?? ''),
        ...tail,
      ]);
    else
      bytes = Uint8Array.from([
        ...bytes.subarray(0, below(bytes.length + 1)),
        ...bytes.subarray(below(bytes.length + 1)),
      ]);
  }
  return bytes;
}

test(
  `mutated files: no crash, no hang, places inside the file (seed ${SEED})`,
  { timeout: FUZZ_MS + 30_000 },
  () => {
    const below = random(SEED);
    const until = Date.now() + FUZZ_MS;
    let runs = 0;
    for (; Date.now() < until; runs += 1) {
      const bytes = mutate(samples[below(samples.length)] ?? example, below);
      const lines = new TextDecoder().decode(bytes).split(/\r\n|\r|\n/);
      const started = Date.now();
      const domain = runs % 4 === 3 ? expandedDomainOf(bytes) : domainOf(bytes);
      const result = planHost(domain, { hostname: 'h' });
      expect(Date.now() - started, `seed ${SEED}, run ${runs}`).toBeLessThan(10_000);
      const notes = [
        ...domain.faults,
        ...domain.warnings,
        ...domain.notes,
        ...domain.notYet,
        ...domain.macros,
      ];
      if (result.ok) notes.push(...result.plan.macros, ...result.plan.notYet);
      notes.push(...obstaclesOf(domain));
      if (domain.faults.length === 0) JSON.stringify(printModel(domain));
      for (const { line, column, message } of notes) {
        const inside =
          line >= 0 &&
          line <= lines.length &&
          (line === 0 || (column >= 1 && column <= (lines[line - 1] ?? '').length + 2));
        if (!inside || message === '' || /[\r\n]/.test(message)) {
          throw new Error(`seed ${SEED}, run ${runs}: ${line}:${column} ${message}`);
        }
      }
    }
    console.log(`ubb fuzz: ${runs} files, seed ${SEED}`);
    expect(runs).toBeGreaterThan(10);
  },
);

/** A valid file of 500 lines: machines, 90 groups, 180 servers of two lines each, comments, and what follows. */
function longFile(): string[] {
  const lines = [
    '*RESOURCES',
    'IPCKEY 40000',
    'MASTER M1',
    'MODEL SHM',
    '',
    '*MACHINES',
    '"node" LMID=M1 APPDIR="app" # here',
    '',
    '*GROUPS',
  ];
  for (let i = 1; i <= 90; i += 1)
    lines.push(`G${i} LMID=M1 GRPNO=${i} TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:dev:S${i}"`);
  lines.push('*SERVERS', 'DEFAULT: MIN=1 MAX=2');
  for (let i = 1; i <= 180; i += 1)
    lines.push(`"server${i}" SRVGRP=G${1 + (i % 90)}`, `\tSRVID=${10 * i} CLOPT="-A -- -x ${i}"`);
  lines.push('*SERVICES');
  while (lines.length < 500) lines.push(`SVC${lines.length} LOAD=10 PRIO=20`);
  return lines;
}

/** Ways to break a line; each applies where its pattern is found. */
const BREAKS: [what: string, from: RegExp, to: string][] = [
  ['quote left open', /"$/, ''],
  ['opening quote gone', /="([^"]*)"$/, '=$1"'],
  ['quote opened too much', /$/, ' "'],
  ['number out of range', /(SRVID|GRPNO|LOAD|PRIO)=[0-9]+/, '$1=99999'],
  ['no number', /(SRVID|GRPNO|LOAD|PRIO)=[0-9]+/, '$1=x1'],
  ['unknown parameter', /(SRVID|GRPNO|LOAD|LMID)=/, 'X$1='],
  ['unknown group', /SRVGRP=G/, 'SRVGRP=NOGROUP'],
  ['unknown machine', /LMID=M1 GRPNO/, 'LMID=M9 GRPNO'],
  ['stray word', /$/, ' oops'],
  ['placeholder', /=[^ ]+$/, '=<value>'],
  ['pipe', /$/, ' | more'],
  ['control character', /$/, ' \u0001'],
  ['key without value', /$/, ' RCMD='],
  ['unknown section', /^\*SERV.*$/, '*SERVED'],
  ['backslash', /$/, ' \\'],
  ['twice', /(LOAD=10|LMID=M1|SRVGRP=G[0-9]+|SRVID=[0-9]+)/, '$1 $1'],
  ['C comment', /$/, ' /* x */'],
  ['single quotes', /"([^"]*)"/, "'$1'"],
];

describe('an error at a random line of a file of 500', () => {
  const lines = longFile();
  test('the file itself is valid', () => {
    expect(lines).toHaveLength(500);
    expect(faultsOf(lines.join('\n'))).toEqual([]);
  });

  const below = random(SEED + 1);
  test(
    `${ERRORS} errors, each reported first at its line (seed ${SEED})`,
    { timeout: ERRORS * 100 + 30_000 },
    () => {
      for (let done = 0; done < ERRORS;) {
        const at = below(500);
        const [what, from, to] = BREAKS[below(BREAKS.length)] ?? ['', /$^/, ''];
        const line = lines[at] ?? '';
        if (
          line === '' ||
          line.includes('#') ||
          (line.startsWith('*') && what !== 'unknown section') ||
          !from.test(line)
        )
          continue;
        const broken = lines.with(at, line.replace(from, to));
        const eol = ['\n', '\r\n'][below(2)] ?? '\n';
        const [first] = domainOf(broken.join(eol)).faults;
        expect(
          first?.line,
          `seed ${SEED}: ${what} in line ${at + 1}: ${broken[at]}\n${first && formatFault(first)}`,
        ).toBe(at + 1);
        done += 1;
      }
    },
  );
});

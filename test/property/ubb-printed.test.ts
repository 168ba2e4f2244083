// `check --json`: a printed model, written back as UBBCONFIG, gives the same model again. Over models made at random from the table of
// parameters (every parameter with legal values, odd texts, macros), the samples, and the public files when they are there.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatFault } from '../../src/ubb/fault.ts';
import { PARAMETERS, type Rule } from '../../src/ubb/parameters.ts';
import { type PrintedEntry, type PrintedModel, printModel } from '../../src/ubb/printed-model.ts';
import type { SectionName } from '../../src/ubb/sections.ts';
import { domainOf } from '../support/ubb.ts';
import { writeUbb } from '../support/ubb-writer.ts';

const root = new URL('../../', import.meta.url).pathname;
const SHARED = `${process.env['TMQUEUE_SHARED'] ?? `${root}../shared`}/ubb`;
const SAMPLES = `${root}config/samples`;

function modelOf(text: string): PrintedModel {
  const domain = domainOf(text);
  expect(domain.faults.map(formatFault), text).toEqual([]);
  return printModel(domain);
}

/** Lines and columns are those of another text. */
function withoutPlaces(model: PrintedModel): unknown {
  return JSON.parse(JSON.stringify(model, (key, value: unknown) => (key === 'line' ? undefined : value)));
}

function expectSame(text: string): PrintedModel {
  const model = modelOf(text);
  expect(withoutPlaces(modelOf(writeUbb(model)))).toEqual(withoutPlaces(model));
  return model;
}

const files = [
  `${root}ubbconfig.example`,
  ...readdirSync(SAMPLES).map((name) => `${SAMPLES}/${name}`),
  ...(existsSync(SHARED) ? readdirSync(SHARED).filter((name) => name.endsWith('.ubb')) : []).map(
    (name) => `${SHARED}/${name}`,
  ),
];
test.each(files)('%s', (file) => {
  expectSame(readFileSync(file, 'utf8'));
});

/** Text with everything that quotes have to carry. No capitals: a last line that ends in `KEY=` is taken for a quote left open. */
const odd = fc
  .array(
    fc.constantFrom(
      'a',
      'b',
      '7',
      ' ',
      '\t',
      '"',
      '\\',
      '#',
      '=',
      ',',
      '*',
      '<x>',
      '/*',
      '-',
      'é',
      '漢',
      '\n-',
    ),
  )
  .map((parts) => parts.join(''));
const fitting = (min: number, max: number): fc.Arbitrary<string> =>
  odd.map((text) => {
    let fit = text;
    while (Buffer.byteLength(fit) > max) fit = fit.slice(0, -1);
    return fit.padEnd(min, 'x');
  });

/** A legal value as it stands in a file; '' is left out where a name may not be empty. */
function legal(rule: Rule): fc.Arbitrary<string> {
  switch (rule.type) {
    case 'number':
      return fc
        .tuple(
          fc.integer({ min: rule.min, max: Math.min(rule.max, 2_147_483_647) }),
          fc.constantFrom(10, 16, 8),
        )
        .map(([value, radix]) => `${radix === 10 ? '' : radix === 16 ? '0x' : '0'}${value.toString(radix)}`);
    case 'flag':
      return fc.constantFrom('Y', 'N');
    case 'choice':
      return fc.constantFrom(...rule.choices);
    case 'choices':
      return fc.uniqueArray(fc.constantFrom(...rule.choices), { minLength: 1 }).map((some) => some.join(','));
    case 'text':
      return fitting(rule.min, rule.max).map((text) => text.replaceAll('\n', ' '));
    case 'names':
      return fc.constantFrom('abc', 'x.y', '$MACRO', '@M@');
    case 'size':
      return fc
        .tuple(fc.integer({ min: 0, max: 5000 }), fc.constantFrom('', 'b', 'B', 'k', 'm', 'g'))
        .map(([value, unit]) => `${value}${unit}`);
    case 'anything':
      return fitting(0, 300);
    default:
      throw new Error('unknown type');
  }
}

/** Those whose values refer to something else, or have a language of their own: given below. */
const GIVEN: Partial<Record<SectionName, string[]>> = {
  RESOURCES: 'IPCKEY MASTER MODEL SCANUNIT BLOCKTIME SANITYSCAN BBLQUERY DBBLWAIT'.split(' '),
  MACHINES: ['LMID', 'APPDIR'],
  GROUPS: ['LMID', 'GRPNO', 'TMSNAME', 'OPENINFO'],
  SERVERS: ['SRVGRP', 'SRVID', 'MIN', 'MAX', 'CLOPT', 'RQADDR'],
  SERVICES: ['SRVGRP', 'ROUTING', 'BUFTYPE'],
  QSPACES: ['SRVGRP', 'ERRORQ'],
  QUEUES: ['QSPACE', 'ORDER', 'OUTOFORDER', 'EXPIRY', 'HIGH', 'LOW', 'NHIGH', 'NLOW'],
};

const quote = (text: string): string => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;

/** Any of a section's other parameters, with legal values, as `KEY value` pairs. */
function others(section: SectionName): fc.Arbitrary<[string, string][]> {
  const rules = Object.entries(PARAMETERS[section] ?? {}).filter(([key]) => !GIVEN[section]?.includes(key));
  return fc
    .record(Object.fromEntries(rules.map(([key, rule]) => [key, legal(rule)])), { requiredKeys: [] })
    .map((values) =>
      Object.entries(values).flatMap(([key, value]): [string, string][] =>
        value === undefined ? [] : [[key, value]],
      ),
    );
}
const line = (section: SectionName): fc.Arbitrary<string> =>
  others(section).map((pairs) => pairs.map(([key, value]) => ` ${key}=${quote(value)}`).join(''));

const timers = fc.constantFrom('', 'SCANUNIT 5\n', 'SCANUNIT 50\nBLOCKTIME 2\n', 'SCANUNIT 2\nDBBLWAIT 9\n');
const queueWords = fc.constantFrom(
  '',
  ' ORDER="priority, time" OUTOFORDER=top EXPIRY=7',
  ' HIGH=80% LOW=0',
  ' ORDER=$O HIGH=${H}',
  ' NHIGH=80% NLOW=1%',
);
const clopts = fc.constantFrom('-A', '-A -- -x \\"a b\\"', '', '-s A,B:C\n -- $X');
const text = fc
  .record({
    timers,
    resources: others('RESOURCES'),
    machine: line('MACHINES'),
    group: line('GROUPS'),
    server: line('SERVERS'),
    clopt: clopts,
    service: line('SERVICES'),
    routing: line('ROUTING'),
    space: line('QSPACES'),
    queue: line('QUEUES'),
    queueWords,
    name: fitting(1, 40).filter((name) => name.trim() !== '' && !/[\n\t]/.test(name)),
  })
  .map((parts) =>
    [
      `*RESOURCES\nIPCKEY 0x9c40\nMASTER M1\nMODEL SHM\n${parts.timers}`,
      parts.resources.map(([key, value]) => `${key} ${quote(value)}\n`).join(''),
      `*MACHINES\nn LMID=M1 APPDIR="a b:c"${parts.machine}\n`,
      `*GROUPS\nDEFAULT: LMID=M1\nQ GRPNO=1 TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:d:S"\nG GRPNO=2${parts.group}\n`,
      `*SERVERS\nDEFAULT: SRVGRP=G MAX=9\na SRVID=1 MIN=2\nb SRVID=20 CLOPT="${parts.clopt}"${parts.server}\n`,
      'TMQUEUE SRVGRP=Q SRVID=1 CLOPT="-s X,Y:TMQUEUE -- -t 5"\nTMQFORWARD SRVGRP=Q SRVID=50 CLOPT="-- -qA,B -i$I"\n',
      `*SERVICES\nX\nZ SRVGRP=G ROUTING=R${parts.service}\n*ROUTING\nR${parts.routing}\n`,
      `*QSPACES\nS SRVGRP=Q${parts.space}\n*QUEUES\n${quote(parts.name)} QSPACE=S${parts.queue}${parts.queueWords}\n`,
    ].join(''),
  );

test('models made at random', () => {
  fc.assert(
    fc.property(text, (source) => {
      expectSame(source);
    }),
    { numRuns: 150 },
  );
});

test('every parameter of the table is printed, with its default when it is absent', () => {
  const model = modelOf(
    '*RESOURCES\nIPCKEY 40000\nMASTER M1\nMODEL SHM\nSCANUNIT 5\nUID 7\nMAXGTT 9\n*MACHINES\nn LMID=M1 APPDIR="."\n' +
      '*GROUPS\nQ LMID=M1 GRPNO=1 TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:d:S"\n*SERVERS\na SRVGRP=Q SRVID=1 MIN=3\n' +
      '*SERVICES\nX\n*QSPACES\nS SRVGRP=Q\n*QUEUES\nA QSPACE=S\n',
  );
  const first = (section: keyof Omit<PrintedModel, 'RESOURCES'>): PrintedEntry['parameters'] =>
    model[section][0]?.parameters ?? {};
  expect(model.RESOURCES).toMatchObject({
    MASTER: ['M1'],
    BLOCKTIME: 12,
    DBBLWAIT: 4,
    GID: null,
    LDBAL: true,
  });
  expect(first('MACHINES')).toMatchObject({
    UID: 7,
    GID: null,
    PERM: 0o666,
    MAXGTT: 9,
    TYPE: '',
    TLOGNAME: null,
  });
  expect(first('GROUPS')).toMatchObject({ LMID: ['M1'], TMSCOUNT: 3 });
  expect(first('SERVERS')).toMatchObject({ MIN: 3, MAX: 3, CLOPT: '-A', RESTART: false, GRACE: 86_400 });
  expect(first('SERVICES')).toMatchObject({ SRVGRP: null, PRIO: 50, TRANTIME: 30, BUFTYPE: 'ALL' });
  expect(first('QSPACES')).toMatchObject({ SRVGRP: 'Q', ERRORQ: '', MSGS: 0, NONPERSIST: 0, BLOCKING: 16 });
  expect(first('QUEUES')).toMatchObject({ ORDER: 'fifo', HIGH: '100%', LOW: '0%', EXPIRY: 'none', CMD: '' });
  for (const [section, rules] of Object.entries(PARAMETERS)) {
    if (section === 'ROUTING') continue;
    const printed = section === 'RESOURCES' ? model.RESOURCES : first(section as 'QUEUES');
    const expected = Object.entries(rules).filter(([, rule]) => rule.type !== 'anything');
    expect(Object.keys(printed).sort()).toEqual(expected.map(([key]) => key).sort());
  }
});

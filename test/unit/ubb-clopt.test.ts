// CLOPT as getopt reads it, addresses, OPENINFO, numbers and the words of QUEUES: tables of input and value.

import { describe, expect, test } from 'vitest';
import { parseAddress } from '../../src/ubb/address.ts';
import {
  parseClopt,
  parseOptions,
  parseSeconds,
  splitWords,
  TMQFORWARD_OPTIONS,
} from '../../src/ubb/clopt.ts';
import { parseOpenInfo } from '../../src/ubb/openinfo.ts';
import { parseExpiry, parseOrder, parseOutOfOrder, parseThreshold } from '../../src/queue/words.ts';
import { parseNumber, parseSize } from '../../src/ubb/values.ts';

describe('CLOPT', () => {
  const rows: [clopt: string, servopts: string, uargs: string][] = [
    ['', '', ''],
    ['-A', 'A', ''],
    ['-A --', 'A', ''],
    ['-A -- ', 'A', ''],
    ['-- -q A', '', '-q|A'],
    ['-Ahr', 'A h r', ''],
    ['-sX:TMQUEUE', 's=X:TMQUEUE', ''],
    ['-s X:TMQUEUE -s Y:TMQUEUE -- -t 3', 's=X:TMQUEUE s=Y:TMQUEUE', '-t|3'],
    ['-Aso', 'A s=o', ''],
    ['-A -e /tmp/e -o/tmp/o', 'A e=/tmp/e o=/tmp/o', ''],
    ['-e -- -- -t 3', '', '--|-t|3'],
    ['\t-A\n  --\r\n -t  3 ', 'A', '-t|3'],
    ['-A -- -- x', 'A', '--|x'],
  ];
  test.each(rows)('%j', (text, servopts, uargs) => {
    const clopt = parseClopt(text);
    const options = clopt.servopts.options.map(({ name, argument }) =>
      argument === '' ? name : `${name}=${argument}`,
    );
    if (text.startsWith('-e --'))
      return expect(clopt.servopts.problems.map(({ word }) => word)).toEqual(['-e']);
    expect(options.join(' ')).toBe(servopts);
    return expect(clopt.uargs.map((word) => word.text).join('|')).toBe(uargs);
  });

  test('own options: glued, apart, clustered, the last letter with an argument', () => {
    const { options, operands, problems } = parseOptions(
      splitWords('-qA,B -t 5 -ei 0 -dnf3 x -b'),
      TMQFORWARD_OPTIONS,
    );
    expect(options.map(({ name, argument, index }) => `${name}=${argument}@${index}`)).toEqual([
      'q=A,B@2',
      't=5@9',
      'e=@12',
      'i=0@15',
      'd=@18',
      'n=@19',
      'f=3@21',
    ]);
    expect(operands).toEqual([{ text: 'x', index: 23 }]);
    expect(problems.map(({ index, message }) => `${index} ${message}`)).toEqual(['26 -b needs an argument']);
  });

  test('quotes keep a word together', () => {
    expect(splitWords(`-q "A B",C 'd e' f"`)).toEqual([
      { text: '-q', index: 0 },
      { text: 'A B,C', index: 3 },
      { text: 'd e', index: 11 },
      { text: 'f"', index: 17 },
    ]);
  });

  test.each([
    ['0', 0],
    ['30', 30],
    ['007', 7],
    ['2147483647', 2_147_483_647],
    ['2147483648', undefined],
    ['99999999999', undefined],
    ['', undefined],
    ['-1', undefined],
    ['3s', undefined],
    ['0x10', undefined],
  ])('seconds %j', (text, value) => {
    expect(parseSeconds(text)).toBe(value);
  });
});

test.each([
  ['//127.0.0.1:7110', '127.0.0.1', 7110],
  ['//host.example:0', 'host.example', 0],
  ['//[::1]:65535', '::1', 65_535],
  ['0x00021BC67F000001', '127.0.0.1', 7110],
  ['0x00021bc6c0a800010000000000000000', '192.168.0.1', 7110],
])('address %s', (text, host, port) => {
  expect(parseAddress(text)).toEqual({ host, port });
});

test.each([
  '',
  '//host',
  '//:1',
  '//h:',
  '//h:65536',
  'h:1',
  '//h:1x',
  '//a b:1',
  '0x00031BC67F000001',
  '0x0002',
])('no address: %j', (text) => {
  expect(parseAddress(text)).toBeUndefined();
});

test.each([
  ['TUXEDO/QM:/q/dev1:SPACE1', '/q/dev1', 'SPACE1'],
  ['TUXEDO/QM:dev;SPACE', 'dev', 'SPACE'],
  [String.raw`TUXEDO/QM:C:\q;S`, String.raw`C:\q`, 'S'],
  ['TUXEDO/QM:a:b:S', 'a:b', 'S'],
])('OPENINFO %s', (text, device, space) => {
  expect(parseOpenInfo(text)).toEqual({ device, space });
});

test.each([
  'x',
  'TUXEDO/QM',
  'TUXEDO/QM:',
  'TUXEDO/QM:d',
  'TUXEDO/QM::S',
  'TUXEDO/QM:d:',
  'TUXEDO/QM:d:1234567890123456',
])('no OPENINFO: %s', (text) => {
  expect(parseOpenInfo(text)).toMatch(/^OPENINFO .*legal/);
});

test.each([
  ['0', 0],
  ['1', 1],
  ['010', 8],
  ['0x1F', 31],
  ['0XfF', 255],
  ['00', 0],
  ['08', undefined],
  ['', undefined],
  ['-1', undefined],
  ['+1', undefined],
  ['1.5', undefined],
  ['1e3', undefined],
  ['0x', undefined],
  [' 1', undefined],
])('number %j', (text, value) => {
  expect(parseNumber(text)).toBe(value);
});

test.each([
  ['0', 0],
  ['3', 1536],
  ['3B', 1536],
  ['3b', 3],
  ['2k', 2048],
  ['64m', 67_108_864],
  ['1g', 1_073_741_824],
  ['1M', undefined],
  ['', undefined],
  ['b', undefined],
  ['-1b', undefined],
  ['99999999999999999g', undefined],
])('size %j', (text, value) => {
  expect(parseSize(text)).toBe(value);
});

const valueOf = (parsed: { ok: boolean; value?: unknown }): unknown => (parsed.ok ? parsed.value : 'refused');

test.each([
  ['fifo', 'fifo'],
  ['lifo', 'lifo'],
  ['priority', 'priority,fifo'],
  ['priority,time,lifo', 'priority,time,lifo'],
  ['time, fifo', 'time,fifo'],
  ['expiration,priority', 'expiration,priority,fifo'],
  ['PRIORITY', 'priority,fifo'],
  ['fifo,time', 'refused'],
  ['fifo,lifo', 'refused'],
  ['time,time', 'refused'],
  ['', 'refused'],
  ['name', 'refused'],
  ['time,', 'refused'],
])('ORDER %j', (text, value) => {
  expect(valueOf(parseOrder(text))).toBe(value);
});

test.each([
  ['none', 'none'],
  ['top', 'top'],
  ['msgid', 'msgid'],
  ['top,msgid', 'top,msgid'],
  ['msgid, top', 'top,msgid'],
  ['none,top', 'refused'],
  ['top,top', 'refused'],
  ['', 'refused'],
  ['top,msgid,top', 'refused'],
])('OUTOFORDER %j', (text, value) => {
  expect(valueOf(parseOutOfOrder(text))).toBe(value);
});

test.each([
  ['none', null],
  ['0', 0],
  ['+60', 60],
  ['2147483647', 2_147_483_647],
  ['2147483648', 'refused'],
  ['-1', 'refused'],
  ['', 'refused'],
])('EXPIRY %j', (text, value) => {
  expect(valueOf(parseExpiry(text))).toBe(value);
});

test.each([
  ['100%', { amount: 100, unit: '%' }],
  ['5m', { amount: 5, unit: 'm' }],
  ['5b', { amount: 5, unit: 'b' }],
  ['5B', { amount: 5, unit: 'B' }],
  ['0', { amount: 0, unit: '' }],
  ['5', 'refused'],
  ['101%', 'refused'],
  ['', 'refused'],
  ['5k', 'refused'],
])('threshold %j', (text, value) => {
  expect(valueOf(parseThreshold(text))).toEqual(value);
});

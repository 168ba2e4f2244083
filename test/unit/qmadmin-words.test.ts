// Lines to words and words to lines; bytes to lines.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quoteWord, splitLine } from '../../src/qmadmin/words.ts';
import type { Input, LineSource } from '../../src/qmadmin/lines.ts';
import { pipe } from '../support/qmadmin.ts';

describe('a line is split', () => {
  it.each<[line: string, words: string[]]>([
    ['', []],
    [' \t ', []],
    ['qinfo', ['qinfo']],
    ['  qopen\t \tSPACE  ', ['qopen', 'SPACE']],
    [`qcr ERR time none 0 0 100% 0% ''`, ['qcr', 'ERR', 'time', 'none', '0', '0', '100%', '0%', '']],
    [`qcr Q "tmboot -s TMQFORWARD"`, ['qcr', 'Q', 'tmboot -s TMQFORWARD']],
    [String.raw`a "say \"hi\"" b`, ['a', 'say "hi"', 'b']],
    [String.raw`'y' 'a "b" \' c`, ['y', String.raw`a "b" \ `.trim(), 'c']],
    [String.raw`a\b "c\d" \"e"`, [String.raw`a\b`, String.raw`c\d`, String.raw`\e`]],
    [`a"b c"'d e'f`, ['ab cd ef']],
    ['"" \'\'', ['', '']],
    [String.raw`"\u{e4}\u{1F600}" "\u{zz}"`, ['ä😀', String.raw`\u{zz}`]],
    ['#x !y', ['#x', '!y']],
  ])('%j', (line, words) => {
    expect(splitLine(line)).toEqual({ ok: true, words });
  });

  it.each([
    ['a "b c', 'the quote in column 3 is never closed'],
    [`it's`, 'the quote in column 3 is never closed'],
    [String.raw`"a\"`, 'the quote in column 1 is never closed'],
    [String.raw`"\u{110000}"`, String.raw`\u{110000} is no character`],
  ])('%j is refused', (line, problem) => {
    expect(splitLine(line)).toEqual({ ok: false, problem });
  });
});

describe('a word is written', () => {
  it.each([
    ['ERR', 'ERR'],
    ['a:b%', 'a:b%'],
    ['ä', 'ä'],
    ['日本', '日本'],
    ['😀', '😀'],
    ['', '""'],
    ['a b', '"a b"'],
    [' ', '" "'],
    ['#x', '"#x"'],
    ['-n', '"-n"'],
    ['say "hi"', String.raw`"say \"hi\""`],
    [`it's`, `"it's"`],
    [`C:\\`, String.raw`"C:\u{5c}"`],
    ['a\u{308}', String.raw`"a\u{308}"`],
    ['a\u{a0}b', String.raw`"a\u{a0}b"`],
    ['a\u{202e}b', String.raw`"a\u{202e}b"`],
    ['a\tb', String.raw`"a\u{9}b"`],
  ])('%j as %s', (word, line) => {
    expect(quoteWord(word)).toBe(line);
  });

  it('so that the splitter gives it back, whatever it is', () => {
    const word = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme-composite' }));
    fc.assert(
      fc.property(fc.array(word, { maxLength: 4 }), (words) => {
        expect(splitLine(words.map(quoteWord).join(' '))).toEqual({ ok: true, words });
      }),
      { interruptAfterTimeLimit: 1000, markInterruptAsFailure: false },
    );
  });
});

async function all(lines: LineSource): Promise<Input[]> {
  const found: Input[] = [];
  for (;;) {
    const input = await lines.next('');
    if (input.kind === 'end') return found;
    found.push(input);
  }
}

describe('lines of a pipe', () => {
  it('are the same however the bytes arrive; CRLF, byte order mark and a missing last line feed are passed over', async () => {
    const bytes = Buffer.from('\u{feff}a ä\r\n\n  日本 \r\n\u{feff}x\nlast');
    const texts = ['a ä', '', '  日本 ', '\u{feff}x', 'last'];
    const expected = texts.map((text, i) => ({ kind: 'line', text, number: i + 1 }));
    for (let size = 0; size <= bytes.length; size++) expect(await all(pipe(bytes, size))).toEqual(expected);
  });

  it('are bad when they are no UTF-8 or too long, and the next one is good again', async () => {
    const bytes = Buffer.concat([
      Buffer.from([0x61, 0xff, 0x0a]),
      Buffer.alloc(65_537, 'x'),
      Buffer.from('\n'),
      Buffer.alloc(65_536, 'y'),
      Buffer.from('\nz\n'),
      Buffer.alloc(300_000, 'w'),
    ]);
    for (const size of [0, 1000]) {
      const found = (await all(pipe(bytes, size))).map((input) =>
        input.kind === 'line' ? input.text[0] : input,
      );
      expect(found).toEqual([
        { kind: 'bad', problem: 'the line is not valid UTF-8', number: 1 },
        { kind: 'bad', problem: 'the line is longer than 65536 bytes', number: 2 },
        'y',
        'z',
        { kind: 'bad', problem: 'the line is longer than 65536 bytes', number: 5 },
      ]);
    }
  });
});

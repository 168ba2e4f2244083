// PROTOCOL.md against the code, both ways: every number and every element count is in the text, and the text has no other.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { QUEUE_INFO_NAMES, SPACE_INFO_NAMES } from '../../proto/admin.ts';
import { ADMIN, LIMIT, OP, QME, TPERRNO, TPQ } from '../../proto/codes.ts';
import { REPLY_ELEMENTS } from '../../proto/reply.ts';
import { REQUEST_ELEMENTS } from '../../proto/request.ts';

const TEXT = readFileSync(new URL('../../proto/PROTOCOL.md', import.meta.url), 'utf8');

/** The text of one section, by the beginning of its heading. */
function section(heading: string): string {
  const from = TEXT.indexOf(`${heading} `);
  if (from < 0) throw new Error(`no section ${heading}`);
  const level = heading.split(' ')[0] ?? '##';
  const to = TEXT.indexOf(`\n${level} `, from);
  return TEXT.slice(from, to < 0 ? undefined : to);
}

function pairs(text: string, pattern: RegExp): Record<string, number> {
  const found: Record<string, number> = {};
  for (const match of text.matchAll(pattern))
    found[match[1] ?? ''] = Number((match[2] ?? '').replace('−', '-'));
  return found;
}

describe('PROTOCOL.md', () => {
  it('lists every tperrno', () => {
    const { TPMINVAL: _none, ...codes } = TPERRNO;
    expect(pairs(section('### 10.1'), /(TP\w+) (\d+)/g)).toEqual(codes);
  });

  it('lists every diagnostic', () => {
    const { OK: _none, ...codes } = QME;
    expect(pairs(section('### 10.2'), /(QME\w+) (−\d+)/g)).toEqual(codes);
  });

  it('lists every TPQCTL flag', () => {
    const { TPNOFLAGS: _none, ...codes } = TPQ;
    expect(pairs(section('### 10.3'), /(TPQ\w+) (0x[\da-f]+)/g)).toEqual(codes);
  });

  it('gives every opcode a row', () => {
    const rows = pairs(section('## 5.').replaceAll(/\| (\d+) (\w+)/g, '| $2=$1'), /\| ([A-Z]+)=(\d+)/g);
    const { REQUEST, CLOSING, UNSOLICITED, AQERROR, ERROR, ...requests } = OP;
    expect(rows).toEqual(requests);
    for (const pushed of [
      '64 REQUEST',
      '65 CLOSING',
      '66 UNSOLICITED',

      '126 AQERROR',
      '127 ERROR',
      '14 PING (pushed)',
    ]) {
      expect(section('## 6.')).toContain(`| ${pushed}`);
    }
    expect([REQUEST, CLOSING, UNSOLICITED, AQERROR, ERROR]).toEqual([64, 65, 66, 126, 127]);
  });

  it('gives every verb of ADMIN a row, and names every member', () => {
    const text = section('### 6.2');
    expect(pairs(text.replaceAll(/\| (\d+) (\w+)/g, '| $2=$1'), /\| ([A-Z]+)=(\d+)/g)).toEqual(ADMIN);
    const words = new Set(text.match(/\w+/g));
    expect([...QUEUE_INFO_NAMES, ...SPACE_INFO_NAMES].filter((name) => !words.has(name))).toEqual([]);
  });

  it('counts elements as the code does', () => {
    const requests = /Element counts, opcode and id included: (.*)\./.exec(TEXT)?.[1] ?? '';
    for (const [name, op] of Object.entries(OP)) {
      const count = REQUEST_ELEMENTS[op];
      if (count === undefined) continue;
      expect(requests).toMatch(new RegExp(`\\b${name}\\b[A-Z ]* ${count}\\b`));
    }
    const replies = /Element counts: (.*)\./.exec(TEXT)?.[1] ?? '';
    for (const [op, count] of Object.entries(REPLY_ELEMENTS)) {
      if (count === 2) continue;
      const name =
        {
          [OP.REQUEST]: 'REQUEST',
          [OP.CLOSING]: 'CLOSING',
          [OP.UNSOLICITED]: 'UNSOLICITED',
          [OP.AQERROR]: 'AQERROR',
          [OP.ERROR]: 'ERROR',
        }[Number(op)] ?? op;
      expect(replies).toContain(`${name} ${count}`);
    }
  });

  it('names the limits', () => {
    const limits = section('## 9.').replaceAll(',', '');
    for (const value of [
      LIMIT.HELLO_FRAME_BYTES,
      LIMIT.STRING_BYTES,
      LIMIT.TMQNAMELEN,
      LIMIT.MAXTIDENT,
      LIMIT.HELLO_DATA_BYTES,
      LIMIT.TYPE_NAME,
      LIMIT.SUBTYPE_NAME,
      LIMIT.TMMSGIDLEN,
      LIMIT.CLTIDLEN,
      LIMIT.IN_FLIGHT_DEFAULT,
      LIMIT.BINDINGS,
      LIMIT.ADVERTISED,
      LIMIT.MEMBERS,
      LIMIT.MEMBER_NAME,
      LIMIT.PAGE_MAX,
      LIMIT.PAGE_BYTES,
      LIMIT.FRAME_OVERHEAD_BYTES + LIMIT.FRAME_SLACK_BYTES,
    ]) {
      expect(limits).toMatch(new RegExp(`\\b${value}\\b`));
    }
  });

  it('shows a conversation whose bytes are those of the vectors', () => {
    const shown = [...section('## 11.').matchAll(/[→←]((?:\s+(?:[\da-f]{2} *)+\n)+)/g)].map(([, hex]) =>
      (hex ?? '').replaceAll(/\s/g, ''),
    );
    const known = ['requests', 'replies'].flatMap((name) =>
      JSON.parse(readFileSync(new URL(`../../proto/vectors/${name}.json`, import.meta.url), 'utf8')).map(
        (vector: { hex: string }) => vector.hex,
      ),
    );
    expect(shown.length).toBe(6);
    expect(shown.filter((hex) => !known.includes(hex))).toEqual([]);
  });
});

// A message as a line of JSON: every one comes back as it was, and whatever is wrong with a line is told with the member and what would be right.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TPQ, TPQCTL } from '../../clients/typescript/index.ts';
import { idOf, lineOf, parseMessage } from '../../src/cli/message-line.ts';

const id = fc.oneof(
  fc.uint8Array({ minLength: 32, maxLength: 32 }),
  fc
    .string({ maxLength: 32 })
    .filter((text) => Buffer.byteLength(text) <= 32)
    .map((text) => {
      const bytes = Buffer.alloc(32);
      bytes.write(text);
      return bytes;
    }),
);
const queueName = fc.string({ minLength: 1, maxLength: 40 }).filter((text) => !text.includes('\0'));
const qos = fc.constantFrom(1, 2, 4);
const received = fc.oneof(
  fc.constant({ data: null, type: '', subtype: '' }),
  fc.record({
    data: fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 60 }),
      fc.string({ minLength: 1 }).map((text) => new Uint8Array(Buffer.from(text))),
    ),
    type: fc.constantFrom('STRING', 'CARRAY', 'JSON', 'XML', 'FML32'),
    subtype: fc.constantFrom('', 'UTF-8', 'v'),
  }),
);
const control = fc.record({
  msgid: id,
  corrid: fc.option(id),
  priority: fc.option(fc.integer({ min: 1, max: 100 })),
  replyqueue: fc.option(queueName),
  failurequeue: fc.option(queueName),
  delivery_qos: fc.option(qos),
  reply_qos: fc.option(qos),
  urcode: fc.integer(),
});

describe('a line', () => {
  it('brings back the message that it was made of', () => {
    fc.assert(
      fc.property(control, received, (given, message) => {
        const { msgid, corrid, priority, replyqueue, failurequeue, delivery_qos, reply_qos, urcode } = given;
        const bits: readonly (readonly [unknown, number])[] = [
          [corrid, TPQ.TPQCORRID],
          [priority, TPQ.TPQPRIORITY],
          [replyqueue, TPQ.TPQREPLYQ],
          [failurequeue, TPQ.TPQFAILUREQ],
          [delivery_qos, TPQ.TPQDELIVERYQOS],
          [reply_qos, TPQ.TPQREPLYQOS],
        ];
        const set = bits.reduce((flags, [value, bit]) => (value === null ? flags : flags | bit), 0);
        const ctl = new TPQCTL({
          flags: set | TPQ.TPQMSGID,
          msgid,
          corrid,
          priority: priority ?? 0,
          replyqueue: replyqueue ?? '',
          failurequeue: failurequeue ?? '',
          delivery_qos: delivery_qos ?? 0,
          reply_qos: reply_qos ?? 0,
          urcode,
          cltid: new Uint8Array(16),
          appkey: -1,
        });
        const line = lineOf(ctl, message);
        expect(line).not.toContain('\n');
        const parsed = parseMessage(line);
        if (!parsed.ok) throw new Error(parsed.fault);
        const { ctl: back, buffer, msgid: shown } = parsed.value;
        expect(Buffer.compare(idOf(shown), msgid)).toBe(0);
        expect(back.flags).toBe(set | TPQ.TPQMSGID);
        expect(back.corrid === null ? null : Buffer.from(back.corrid)).toEqual(
          corrid === null ? null : Buffer.from(corrid),
        );
        const {
          priority: p,
          replyqueue: r,
          failurequeue: f,
          delivery_qos: d,
          reply_qos: q,
          urcode: u,
        } = back;
        expect([p, r, f, d, q, u]).toEqual([
          ctl.priority,
          ctl.replyqueue,
          ctl.failurequeue,
          ctl.delivery_qos,
          ctl.reply_qos,
          urcode,
        ]);
        const data = buffer?.data ?? null;
        expect(data === null ? null : Buffer.from(data)).toEqual(
          message.data === null ? null : Buffer.from(message.data),
        );
        expect([buffer?.type ?? '', buffer?.subtype ?? '']).toEqual([message.type, message.subtype]);
      }),
    );
  });

  it('may say when the message becomes available, and when it expires', () => {
    const parsed = parseMessage('{"text":"x","type":"STRING","deq_time":1800000000,"exp_time":1900000000}');
    expect(parsed.ok && parsed.value.ctl).toMatchObject({
      flags: TPQ.TPQMSGID | TPQ.TPQTIME_ABS | TPQ.TPQEXPTIME_ABS,
      deq_time: 1_800_000_000,
      exp_time: 1_900_000_000,
    });
  });

  it.each([
    ['{', 'no JSON: '],
    ['[]', 'legal: one JSON object a line'],
    ['{"prio":1}', '"prio" is no member; legal: msgid, corrid, priority, '],
    ['{"__proto__":1}', '"__proto__" is no member'],
    ['{"msgid":""}', 'msgid: "" is not legal; legal: 1..32 bytes of text, or 0x and 64 hexadecimal digits'],
    ['{"corrid":"0x12"}', 'corrid: "0x12" is not legal; legal: at most 32 bytes of text, or 0x and 64'],
    [`{"corrid":"${'ä'.repeat(17)}"}`, 'corrid: '],
    ['{"priority":0}', 'priority: 0 is not legal; legal: a whole number 1..100'],
    ['{"priority":"1"}', 'priority: "1" is not legal'],
    ['{"replyqueue":""}', 'replyqueue: "" is not legal; legal: 1..127 bytes without NUL'],
    [
      '{"delivery_qos":"toString"}',
      'delivery_qos: "toString" is not legal; legal: default, persist or nonpersist',
    ],
    ['{"deq_time":-1}', 'deq_time: -1 is not legal; legal: seconds since 1970'],
    ['{"urcode":1.5}', 'urcode: 1.5 is not legal; legal: a whole number'],
    ['{"base64":"A","type":"CARRAY"}', 'base64: "A" is not legal; legal: bytes in base64'],
    ['{"text":"x"}', 'type is not given'],
    ['{"text":"x","base64":"AA==","type":"STRING"}', 'text and base64 are both given'],
    ['{"type":"STRING"}', 'there is no data; legal: text or base64'],
    ['{"text":"x","type":"TOOLONGTYPE"}', 'type: "TOOLONGTYPE" is not legal; legal: 1..8 bytes'],
  ])('%s is refused', (line, text) => {
    const parsed = parseMessage(line);
    expect(parsed.ok ? 'it was taken' : parsed.fault).toContain(text);
  });
});

// The rules of TPQCTL that need nothing but the structure, as a table of rows [spec 1.2, 1.4, 1.6].
import { describe, expect, it } from 'vitest';
import { QME, TPQ } from '../../proto/codes.ts';
import type { QctlIn } from '../../proto/message.ts';
import {
  checkDequeueCtl,
  checkEnqueueCtl,
  dequeueOutputFlags,
  DEQUEUE_ONLY_BITS,
  DEQUEUE_OUTPUT_BITS,
  emptyQctl,
  enqueueMembers,
  ENQUEUE_ONLY_BITS,
  KNOWN_BITS,
  qctlFlagNames,
} from '../../proto/qctl.ts';

const ID = new Uint8Array(32);
const name127 = 'n'.repeat(127);

type Row = [string, Partial<QctlIn>, keyof typeof QME];

const ENQUEUE_ROWS: Row[] = [
  ['no flags', {}, 'OK'],
  [
    'every member whose flag is off may hold anything',
    { priority: 999, deqTime: -1, replyqueue: '\0' },
    'OK',
  ],
  ['an unknown bit', { flags: 0x100000 }, 'QMEINVAL'],
  ['the top bit', { flags: 0x8000_0000 }, 'QMEINVAL'],
  ['half of GETBYMSGID', { flags: 0x40000 }, 'QMEINVAL'],
  ['half of GETBYCORRID', { flags: 0x80000 }, 'QMEINVAL'],
  ['half of one, the other whole', { flags: 0x40000 | TPQ.TPQGETBYCORRID }, 'QMEINVAL'],
  ['TOP', { flags: TPQ.TPQTOP }, 'OK'],
  ['BEFOREMSGID with an id', { flags: TPQ.TPQBEFOREMSGID, msgid: ID }, 'OK'],
  ['BEFOREMSGID without an id', { flags: TPQ.TPQBEFOREMSGID }, 'QMEINVAL'],
  ['TOP and BEFOREMSGID', { flags: TPQ.TPQTOP | TPQ.TPQBEFOREMSGID, msgid: ID }, 'QMEINVAL'],
  ['TIME_ABS and TIME_REL', { flags: TPQ.TPQTIME_ABS | TPQ.TPQTIME_REL }, 'QMEINVAL'],
  ['EXPTIME_ABS and REL', { flags: TPQ.TPQEXPTIME_ABS | TPQ.TPQEXPTIME_REL }, 'QMEINVAL'],
  ['EXPTIME_ABS and NONE', { flags: TPQ.TPQEXPTIME_ABS | TPQ.TPQEXPTIME_NONE }, 'QMEINVAL'],
  ['EXPTIME_REL and NONE', { flags: TPQ.TPQEXPTIME_REL | TPQ.TPQEXPTIME_NONE }, 'QMEINVAL'],
  ['priority 0', { flags: TPQ.TPQPRIORITY, priority: 0 }, 'QMEINVAL'],
  ['priority 1', { flags: TPQ.TPQPRIORITY, priority: 1 }, 'OK'],
  ['priority 100', { flags: TPQ.TPQPRIORITY, priority: 100 }, 'OK'],
  ['priority 101', { flags: TPQ.TPQPRIORITY, priority: 101 }, 'QMEINVAL'],
  ['priority -5', { flags: TPQ.TPQPRIORITY, priority: -5 }, 'QMEINVAL'],
  ['delivery QOS 0', { flags: TPQ.TPQDELIVERYQOS, deliveryQos: 0 }, 'QMEINVAL'],
  ['delivery QOS 1', { flags: TPQ.TPQDELIVERYQOS, deliveryQos: 1 }, 'OK'],
  ['delivery QOS 2', { flags: TPQ.TPQDELIVERYQOS, deliveryQos: 2 }, 'OK'],
  ['delivery QOS 4', { flags: TPQ.TPQDELIVERYQOS, deliveryQos: 4 }, 'OK'],
  ['delivery QOS 3 (two)', { flags: TPQ.TPQDELIVERYQOS, deliveryQos: 3 }, 'QMEINVAL'],
  ['reply QOS 6 (two)', { flags: TPQ.TPQREPLYQOS, replyQos: 6 }, 'QMEINVAL'],
  ['reply QOS 4', { flags: TPQ.TPQREPLYQOS, replyQos: 4 }, 'OK'],
  ['negative deq_time', { flags: TPQ.TPQTIME_REL, deqTime: -1 }, 'QMEINVAL'],
  ['deq_time 0', { flags: TPQ.TPQTIME_ABS, deqTime: 0 }, 'OK'],
  ['negative exp_time', { flags: TPQ.TPQEXPTIME_ABS, expTime: -1 }, 'QMEINVAL'],
  ['negative exp_time with NONE', { flags: TPQ.TPQEXPTIME_NONE, expTime: -1 }, 'OK'],
  ['reply queue of 127 bytes', { flags: TPQ.TPQREPLYQ, replyqueue: name127 }, 'OK'],
  ['reply queue of 128 bytes', { flags: TPQ.TPQREPLYQ, replyqueue: `${name127}n` }, 'QMEINVAL'],
  [
    'reply queue of 127 characters, 128 bytes',
    { flags: TPQ.TPQREPLYQ, replyqueue: `${'n'.repeat(126)}é` },
    'QMEINVAL',
  ],
  ['reply queue without a name', { flags: TPQ.TPQREPLYQ }, 'QMEINVAL'],
  ['reply queue with NUL', { flags: TPQ.TPQREPLYQ, replyqueue: 'a\0b' }, 'QMEINVAL'],
  ['failure queue of 128 bytes', { flags: TPQ.TPQFAILUREQ, failurequeue: `${name127}n` }, 'QMEINVAL'],
  ['failure queue', { flags: TPQ.TPQFAILUREQ, failurequeue: 'FAILQ' }, 'OK'],
  ['corrid', { flags: TPQ.TPQCORRID, corrid: ID }, 'OK'],
  ['corrid missing', { flags: TPQ.TPQCORRID }, 'QMEINVAL'],
  ['dequeue-only bits', { flags: DEQUEUE_ONLY_BITS }, 'OK'],
];

const DEQUEUE_ROWS: Row[] = [
  ['no flags', {}, 'OK'],
  ['every output bit', { flags: DEQUEUE_OUTPUT_BITS }, 'OK'],
  ['an unknown bit', { flags: 0x100000 }, 'QMEINVAL'],
  ['half of GETBYMSGID', { flags: 0x40000 }, 'QMEINVAL'],
  ['enqueue-only bits, even exclusive ones', { flags: ENQUEUE_ONLY_BITS, deqTime: -1 }, 'OK'],
  ['priority 0 as a wanted output', { flags: TPQ.TPQPRIORITY, priority: 0 }, 'OK'],
  ['GETBYMSGID', { flags: TPQ.TPQGETBYMSGID, msgid: ID }, 'OK'],
  ['GETBYMSGID without an id', { flags: TPQ.TPQGETBYMSGID }, 'QMEINVAL'],
  ['GETBYCORRID without an id', { flags: TPQ.TPQGETBYCORRID }, 'QMEINVAL'],
  [
    'both GETBY flags, WAIT and PEEK',
    { flags: TPQ.TPQGETBYMSGID | TPQ.TPQGETBYCORRID | TPQ.TPQWAIT | TPQ.TPQPEEK, msgid: ID, corrid: ID },
    'OK',
  ],
  ['old GETBYMSGID', { flags: TPQ.TPQGETBYMSGIDOLD, msgid: ID }, 'OK'],
  ['old GETBYMSGID with WAIT', { flags: TPQ.TPQGETBYMSGIDOLD | TPQ.TPQWAIT, msgid: ID }, 'QMEINVAL'],
  ['old GETBYCORRID with WAIT', { flags: TPQ.TPQGETBYCORRIDOLD | TPQ.TPQWAIT, corrid: ID }, 'QMEINVAL'],
  [
    'new GETBYMSGID with old GETBYCORRID and WAIT',
    { flags: TPQ.TPQGETBYMSGID | TPQ.TPQGETBYCORRIDOLD | TPQ.TPQWAIT, msgid: ID, corrid: ID },
    'QMEINVAL',
  ],
];

describe('TPQCTL', () => {
  it.each(ENQUEUE_ROWS)('enqueue: %s', (_name, members, expected) => {
    expect(checkEnqueueCtl({ ...emptyQctl(), ...members })).toBe(QME[expected]);
  });

  it.each(DEQUEUE_ROWS)('dequeue: %s', (_name, members, expected) => {
    expect(checkDequeueCtl({ ...emptyQctl(), ...members })).toBe(QME[expected]);
  });

  it('knows the 20 bits of the table and no other', () => {
    expect(KNOWN_BITS).toBe(0xfffff);
  });

  it('output bits come back only when asked for and supplied; the msgid always exists', () => {
    const asked = TPQ.TPQPRIORITY | TPQ.TPQMSGID | TPQ.TPQWAIT | TPQ.TPQGETBYCORRID | TPQ.TPQTOP;
    expect(dequeueOutputFlags(asked, TPQ.TPQPRIORITY | TPQ.TPQCORRID)).toBe(TPQ.TPQPRIORITY | TPQ.TPQMSGID);
    expect(dequeueOutputFlags(asked, 0)).toBe(TPQ.TPQMSGID);
    expect(dequeueOutputFlags(0, 0xffff_ffff)).toBe(0);
  });

  it('counts the members that flags select', () => {
    expect(enqueueMembers(0)).toBe(0);
    expect(enqueueMembers(KNOWN_BITS)).toBe(9);
    expect(enqueueMembers(TPQ.TPQEXPTIME_NONE | TPQ.TPQTOP | TPQ.TPQMSGID | DEQUEUE_ONLY_BITS)).toBe(0);
  });

  it('names bits for people', () => {
    expect(qctlFlagNames(0)).toBe('TPNOFLAGS');
    expect(qctlFlagNames(TPQ.TPQTOP | TPQ.TPQTIME_REL)).toBe('TPQTOP|TPQTIME_REL');
    expect(qctlFlagNames(TPQ.TPQGETBYMSGID | TPQ.TPQGETBYCORRIDOLD)).toContain('TPQGETBYMSGID');
    expect(qctlFlagNames(TPQ.TPQGETBYMSGID)).not.toContain('OLD');
    expect(qctlFlagNames(0x8010_0001)).toBe('TPQCORRID|0x80100000');
  });
});

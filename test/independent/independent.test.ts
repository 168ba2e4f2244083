// The daemon as a client in any language sees it: every conversation that proto/PROTOCOL.md describes, held by a client that was written
// from that page alone. Every queue belongs to one test.
import { describe, expect, it } from 'vitest';
import { bytesOf, type Client, encode, type Frame, helloMembers, readCtl, type Refused } from './client.ts';
import { Peer } from './daemon.ts';
import { ANSWER, JOINED, OP, Q, QME, RVAL, TP, TPE, TYPE } from './numbers.ts';

const NO_DATA = [TYPE.NONE, '', null];
const ANY_TYPE = [TYPE.NONE, ''];
const CORRID = Buffer.alloc(32, 'c');
const QUEUES = [
  'PLAIN',
  'MEMBERS',
  'LAYOUT',
  'TYPES',
  'HANDLE',
  'ORDER',
  'PARKED',
  'OTHER',
  'PICK',
  'TX',
  'TXWAIT',
  'GONE',
  'ENDING',
  'ROUND',
  'REPLIES',
  'JOINED',
];
const peer = Peer.forAll({ queues: QUEUES, forwarders: ['-q ROUND -i 1'] });

const at = (queue: string): string[] => ['QSPACE', queue];
const text = (words: string): Frame => [TYPE.STRING, '', Buffer.from(words)];

function put(client: Client, queue: string, words: string, tx = 0): Promise<Frame> {
  return client.ask(OP.ENQUEUE, at(queue), null, 0, tx, ...text(words));
}

/** What is at the head of a queue, as text. */
async function get(client: Client, queue: string, tx = 0): Promise<string> {
  const [, , , data] = await client.ask(OP.DEQUEUE, at(queue), null, 0, tx, ...ANY_TYPE, 0);
  return bytesOf(data).toString();
}

const bitsOf = (flags: readonly number[]): number => flags.reduce((bits, bit) => bits | bit, 0);

/** Sends a DEQUEUE with TPQWAIT and returns its id as soon as the daemon has taken it. */
async function park(client: Client, queue: string, tx = 0): Promise<number> {
  const id = client.send(OP.DEQUEUE, at(queue), [Q.WAIT], 0, tx, ...ANY_TYPE, 0);
  await client.ask(OP.PING);
  return id;
}

const numbers = (...names: string[]): object =>
  Object.fromEntries(names.map((name) => [name, expect.any(Number)]));
const noMessage = { tperrno: TPE.DIAGNOSTIC, diagnostic: QME.NOMSG };

describe('opening', () => {
  it('agrees on a version and tells the limits', async () => {
    const { welcome } = await peer.join();
    expect(welcome?.version).toBe(1);
    expect(welcome?.cltid).toHaveLength(16);
    expect(welcome?.frameBytesMax).toBe(16 * 1024 * 1024 + 69_632);
    expect(welcome?.inFlightMax).toBe(1024);
    expect(welcome?.heartbeatMs).toBe(10_000);
    expect(welcome?.blockTimeMs).toBeGreaterThan(0);
    expect(welcome?.product).toMatch(/^tmqueue /);
  });

  it('refuses versions that it does not speak, and closes', async () => {
    const client = await peer.dial();
    await expect(client.ask(OP.HELLO, ...helloMembers(2, 3))).rejects.toMatchObject({ tperrno: TPE.RELEASE });
    await client.ended;
  });

  it('takes the HELLO of a later version, which has more elements', async () => {
    const client = await peer.dial();
    const [version] = await client.ask(OP.HELLO, ...helloMembers(1, 9), 'more', ['and', 1], null);
    expect(version).toBe(1);
  });

  it('refuses TPINIT members that are too long', async () => {
    const client = await peer.dial();
    const [min, max, , ...rest] = helloMembers();
    const hello = client.ask(OP.HELLO, min, max, 'u'.repeat(31), ...rest);
    await expect(hello).rejects.toMatchObject({ tperrno: TPE.INVAL });
    await client.ended;
  });

  it('refuses a second HELLO and goes on', async () => {
    const client = await peer.join();
    await expect(client.ask(OP.HELLO, ...helloMembers())).rejects.toMatchObject({ tperrno: TPE.PROTO });
    await client.ask(OP.PING);
  });
});

describe('messages', () => {
  it('go in and out without a control structure', async () => {
    const client = await peer.join();
    expect(await put(client, 'PLAIN', 'hi')).toEqual([null]);
    const [ctl, type, subtype, data] = await client.ask(OP.DEQUEUE, at('PLAIN'), null, 0, 0, ...ANY_TYPE, 0);
    expect(readCtl(ctl)).toEqual({ flags: 0, cltid: client.welcome?.cltid, urcode: 0, appkey: -1 });
    expect([type, subtype, bytesOf(data).toString()]).toEqual([TYPE.STRING, '', 'hi']);
    await expect(get(client, 'PLAIN')).rejects.toMatchObject(noMessage);
  });

  it('carry every set of members that an enqueue may give, and bring it back', async () => {
    const members: readonly (readonly [string, number, unknown])[] = [
      ['priority', Q.PRIORITY, 80],
      ['corrid', Q.CORRID, CORRID],
      ['replyqueue', Q.REPLYQ, 'OTHER'],
      ['failurequeue', Q.FAILUREQ, 'GONE'],
    ];
    const out = Q.PRIORITY | Q.MSGID | Q.CORRID | Q.REPLYQ | Q.FAILUREQ | Q.DELIVERYQOS | Q.REPLYQOS;
    const client = await peer.join();
    const roundTrip = async (set: number): Promise<void> => {
      const given = members.filter((_, i) => (set & (1 << i)) !== 0);
      const wantsId = (set & 16) !== 0;
      const urcode = (set & 32) === 0 ? 0 : -5_000_000_000_000;
      const flags = bitsOf(given.map(([, bit]) => bit)) | (wantsId ? Q.MSGID : 0);
      const ctl = [flags, ...given.map(([, , value]) => value), ...(urcode === 0 ? [] : [urcode])];
      const [[msgid], taken] = await Promise.all([
        client.ask(OP.ENQUEUE, at('MEMBERS'), ctl, 0, 0, ...NO_DATA),
        client.ask(OP.DEQUEUE, at('MEMBERS'), [out], 0, 0, ...ANY_TYPE, 0),
      ]);
      if (!wantsId) expect(msgid).toBeNull();
      const { msgid: takenId, urcode: takenUrcode, ...rest } = readCtl(taken[0]);
      expect(rest).toEqual({
        flags: flags | Q.MSGID,
        ...Object.fromEntries(given.map(([name, , value]) => [name, value])),
        cltid: client.welcome?.cltid,
        appkey: -1,
      });
      expect(Number(takenUrcode)).toBe(urcode);
      expect(bytesOf(takenId)).toHaveLength(32);
      if (wantsId) expect(takenId).toEqual(msgid);
      expect(taken.slice(1)).toEqual(NO_DATA);
    };
    await Promise.all(Array.from({ length: 64 }, (_, set) => roundTrip(set)));
  });

  it('may have every member of the layout, whether the daemon serves it or not', async () => {
    const members: readonly (readonly [number, unknown])[] = [
      [Q.TIME_REL, 0],
      [Q.PRIORITY, 1],
      [Q.BEFOREMSGID, Buffer.alloc(32)],
      [Q.CORRID, CORRID],
      [Q.REPLYQ, 'OTHER'],
      [Q.FAILUREQ, 'GONE'],
      [Q.DELIVERYQOS, 1],
      [Q.REPLYQOS, 2],
      [Q.EXPTIME_REL, 3600],
    ];
    const client = await peer.join();
    const understood = async (chosen: readonly (readonly [number, unknown])[]): Promise<void> => {
      const ctl = [bitsOf(chosen.map(([bit]) => bit)), ...chosen.map(([, value]) => value), 7];
      const answer = client.ask(OP.ENQUEUE, at('LAYOUT'), ctl, 0, 0, ...NO_DATA);
      await answer.catch((error: unknown) => expect(error).toMatchObject({ tperrno: TPE.DIAGNOSTIC }));
    };
    for (const member of members) await understood([member]);
    await understood(members);
    await client.ask(OP.PING);
  });

  it('keep their type, subtype and bytes', async () => {
    const client = await peer.join();
    const buffers: Frame[] = [
      [TYPE.CARRAY, '', Buffer.from([0, 255])],
      [TYPE.X_OCTET, '', Buffer.alloc(70_000, 7)],
      [TYPE.JSON, '', Buffer.from('{"a":1}')],
      [TYPE.MBSTRING, 'UTF-16', Buffer.from('ä', 'utf16le')],
      [TYPE.XML, '', Buffer.from('<a/>')],
      ['FML32', 'sixteen bytes 16', Buffer.from('f')],
    ];
    const taken = buffers.map((buffer) => {
      client.send(OP.ENQUEUE, at('TYPES'), null, 0, 0, ...buffer);
      return client.ask(OP.DEQUEUE, at('TYPES'), null, 0, 0, ...ANY_TYPE, 0);
    });
    expect((await Promise.all(taken)).map((answer) => answer.slice(1))).toEqual(buffers);
    await client.ask(OP.ENQUEUE, at('TYPES'), null, 0, 0, 'STRING', '', Buffer.from('by name'));
    const other = client.ask(OP.DEQUEUE, at('TYPES'), null, TP.NOCHANGE, 0, TYPE.XML, '', 0);
    await expect(other).rejects.toMatchObject({ tperrno: TPE.OTYPE });
    const same = await client.ask(OP.DEQUEUE, at('TYPES'), null, TP.NOCHANGE, 0, 'STRING', '', 0);
    expect(same.slice(1)).toEqual(text('by name'));
    await client.ask(OP.ENQUEUE, at('TYPES'), null, 0, 0, TYPE.STRING, '', Buffer.alloc(0));
    const empty = await client.ask(OP.DEQUEUE, at('TYPES'), null, TP.NOCHANGE, 0, TYPE.XML, '', 0);
    expect(empty.slice(1)).toEqual(NO_DATA);
  });

  it('go through a handle as through the names', async () => {
    const client = await peer.join();
    const [handle] = await client.ask(OP.BIND, ...at('HANDLE'));
    expect(await client.ask(OP.BIND, ...at('HANDLE'))).toEqual([handle]);
    await client.ask(OP.ENQUEUE, handle, null, 0, 0, ...text('by handle'));
    expect(await get(client, 'HANDLE')).toBe('by handle');
    await put(client, 'HANDLE', 'by name');
    const taken = await client.ask(OP.DEQUEUE, handle, null, 0, 0, ...ANY_TYPE, 0);
    expect(taken.slice(1)).toEqual(text('by name'));
    const unknown = client.ask(OP.ENQUEUE, Number(handle) + 1, null, 0, 0, ...NO_DATA);
    await expect(unknown).rejects.toMatchObject({ tperrno: TPE.INVAL });
    const [nowhere] = await client.ask(OP.BIND, 'QSPACE', 'NOWHERE');
    const missing = client.ask(OP.ENQUEUE, nowhere, null, 0, 0, ...NO_DATA);
    await expect(missing).rejects.toMatchObject({ tperrno: TPE.DIAGNOSTIC, diagnostic: QME.BADQUEUE });
  });

  it('keep the order of arrival when many requests are sent at once', async () => {
    const client = await peer.join();
    const words = Array.from({ length: 50 }, (_, i) => `message ${i}`);
    const bytes: Buffer[] = [];
    const ids = words.map((word) => {
      const [into, outOf] = [client.nextId(), client.nextId()];
      bytes.push(
        encode([OP.ENQUEUE, into, at('ORDER'), null, 0, 0, ...text(word)]),
        encode([OP.DEQUEUE, outOf, at('ORDER'), null, 0, 0, ...ANY_TYPE, 0]),
      );
      return outOf;
    });
    client.write(Buffer.concat(bytes));
    const answers = await Promise.all(ids.map((id) => client.answer(id, OP.DEQUEUE)));
    expect(answers.map((answer) => bytesOf(answer[3]).toString())).toEqual(words);
  });

  it('are picked by msgid and corrid, and peeked at', async () => {
    const client = await peer.join();
    await put(client, 'PICK', 'first');
    const [msgid] = await client.ask(OP.ENQUEUE, at('PICK'), [Q.MSGID], 0, 0, ...text('by msgid'));
    await client.ask(OP.ENQUEUE, at('PICK'), [Q.CORRID, CORRID], 0, 0, ...text('by corrid'));
    const take = async (...ctl: Frame): Promise<Frame> =>
      (await client.ask(OP.DEQUEUE, at('PICK'), ctl, 0, 0, ...ANY_TYPE, 0)).slice(1);
    expect(await take(Q.PEEK)).toEqual(text('first'));
    expect(await take(Q.GETBYCORRID, CORRID)).toEqual(text('by corrid'));
    expect(await take(Q.GETBYMSGID, msgid)).toEqual(text('by msgid'));
    expect(await take(0)).toEqual(text('first'));
    await expect(take(Q.GETBYMSGID | Q.GETBYCORRID, msgid, CORRID)).rejects.toMatchObject(noMessage);
  });

  it('are refused with a code that says why', async () => {
    const client = await peer.join();
    const enqueue = (space: string, queue: string, ctl: unknown, flags = 0): Promise<Frame> =>
      client.ask(OP.ENQUEUE, [space, queue], ctl, flags, 0, ...NO_DATA);
    await expect(enqueue('NOSPACE', 'PLAIN', null)).rejects.toMatchObject({ tperrno: TPE.NOENT });
    await expect(enqueue('QSPACE', '', null)).rejects.toMatchObject({ tperrno: TPE.INVAL });
    await expect(enqueue('QSPACE', 'PLAIN', null, 0x400000)).rejects.toMatchObject({ tperrno: TPE.INVAL });
    const invalid = { tperrno: TPE.DIAGNOSTIC, diagnostic: QME.INVAL };
    await expect(enqueue('QSPACE', 'PLAIN', [Q.PRIORITY, 101])).rejects.toMatchObject(invalid);
    await expect(enqueue('QSPACE', 'PLAIN', [0x80000000])).rejects.toMatchObject(invalid);
    await expect(enqueue('QSPACE', 'PLAIN', [Q.REPLYQ, ''])).rejects.toMatchObject(invalid);
    await client.ask(OP.PING);
  });
});

describe('a dequeue that waits', () => {
  it('holds up nothing that is sent after it', async () => {
    const [client, producer] = await Promise.all([peer.join(), peer.join()]);
    const parked = await park(client, 'PARKED');
    await put(client, 'OTHER', 'meanwhile');
    expect(await get(client, 'OTHER')).toBe('meanwhile');
    await client.ask(OP.STAT, '');
    expect(client.arrived.map((frame) => frame[1])).not.toContain(parked);
    await put(producer, 'PARKED', 'at last');
    const [, , , data] = await client.answer(parked, OP.DEQUEUE);
    expect(bytesOf(data).toString()).toBe('at last');
  });

  it('ends when its time is over', async () => {
    const client = await peer.join();
    const waited = client.ask(OP.DEQUEUE, at('PARKED'), [Q.WAIT], TP.NOTIME, 0, ...ANY_TYPE, 1);
    await expect(waited).rejects.toMatchObject(noMessage);
  });

  it('is cancelled: it is answered itself, and takes no message any more', async () => {
    const client = await peer.join();
    const parked = await park(client, 'PARKED');
    expect(await client.ask(OP.CANCEL, parked)).toEqual([true]);
    await expect(client.answer(parked, OP.DEQUEUE)).rejects.toMatchObject({ tperrno: TPE.GOTSIG });
    expect(await client.ask(OP.CANCEL, parked)).toEqual([false]);
    expect(await client.ask(OP.CANCEL, 4_000_000_000)).toEqual([false]);
    await put(client, 'PARKED', 'not taken by it');
    expect(await get(client, 'PARKED')).toBe('not taken by it');
  });

  it('is limited in number, and PING and CANCEL are admitted above', async () => {
    const client = await peer.join();
    const ids = Array.from({ length: client.welcome?.inFlightMax ?? 0 }, () =>
      client.send(OP.DEQUEUE, at('PARKED'), [Q.WAIT], 0, 0, ...ANY_TYPE, 0),
    );
    await expect(put(client, 'OTHER', 'one more')).rejects.toMatchObject({ tperrno: TPE.LIMIT });
    await client.ask(OP.PING);
    expect(await client.ask(OP.CANCEL, ids[0])).toEqual([true]);
    await put(client, 'OTHER', 'there is room again');
    expect(await get(client, 'OTHER')).toBe('there is room again');
  });
});

describe('a transaction', () => {
  it('is seen after COMMIT, with all that was sent before it', async () => {
    const [client, other] = await Promise.all([peer.join(), peer.join()]);
    const [tx] = await client.ask(OP.BEGIN, 60);
    await put(client, 'TX', 'one', Number(tx));
    await expect(get(other, 'TX')).rejects.toMatchObject(noMessage);
    const late = client.send(OP.ENQUEUE, at('TX'), null, 0, tx, ...text('two'));
    expect(await client.ask(OP.COMMIT, tx)).toEqual([]);
    expect(await client.answer(late, OP.ENQUEUE)).toEqual([null]);
    expect([await get(other, 'TX'), await get(other, 'TX')]).toEqual(['one', 'two']);
  });

  it('leaves no trace after ABORT, and one of several is apart from the others', async () => {
    const client = await peer.join();
    await put(client, 'TX', 'stays');
    const [[first], [second]] = await Promise.all([client.ask(OP.BEGIN, 0), client.ask(OP.BEGIN, 0)]);
    expect(await get(client, 'TX', Number(first))).toBe('stays');
    await put(client, 'TX', 'goes', Number(first));
    await put(client, 'OTHER', 'of the second', Number(second));
    expect(await client.ask(OP.ABORT, first)).toEqual([]);
    await client.ask(OP.COMMIT, second);
    expect([await get(client, 'TX'), await get(client, 'OTHER')]).toEqual(['stays', 'of the second']);
    await expect(get(client, 'TX')).rejects.toMatchObject(noMessage);
  });

  it('does not hold a call with TPNOTRAN', async () => {
    const client = await peer.join();
    const [tx] = await client.ask(OP.BEGIN, 0);
    await client.ask(OP.ENQUEUE, at('TX'), null, TP.NOTRAN, tx, ...text('outside'));
    await client.ask(OP.ABORT, tx);
    expect(await get(client, 'TX')).toBe('outside');
  });

  it('is dead when it has ended: its number is TPEPROTO, and the connection goes on', async () => {
    const client = await peer.join();
    const [tx] = await client.ask(OP.BEGIN, 0);
    await client.ask(OP.COMMIT, tx);
    for (const request of [
      put(client, 'TX', 'late', Number(tx)),
      client.ask(OP.COMMIT, tx),
      client.ask(OP.ABORT, tx),
    ])
      await expect(request).rejects.toMatchObject({ tperrno: TPE.PROTO });
    await client.ask(OP.PING);
  });

  it('with a dequeue that still waits is not committed', async () => {
    const client = await peer.join();
    const [tx] = await client.ask(OP.BEGIN, 0);
    await put(client, 'TX', 'undone', Number(tx));
    const parked = await park(client, 'TXWAIT', Number(tx));
    await expect(client.ask(OP.COMMIT, tx)).rejects.toMatchObject({ tperrno: TPE.ABORT });
    await expect(client.answer(parked, OP.DEQUEUE)).rejects.toMatchObject({ tperrno: TPE.GOTSIG });
    await expect(client.ask(OP.ABORT, tx)).rejects.toMatchObject({ tperrno: TPE.PROTO });
    await expect(get(client, 'TX')).rejects.toMatchObject(noMessage);
  });

  it('that is aborted ends a dequeue that waits in it', async () => {
    const client = await peer.join();
    const [tx] = await client.ask(OP.BEGIN, 0);
    const parked = await park(client, 'TXWAIT', Number(tx));
    expect(await client.ask(OP.ABORT, tx)).toEqual([]);
    await expect(client.answer(parked, OP.DEQUEUE)).rejects.toMatchObject({ tperrno: TPE.GOTSIG });
  });

  it('that a failure has spoilt is only ended: with ABORT, or with a COMMIT that fails', async () => {
    const client = await peer.join();
    await put(client, 'TX', 'of another type');
    for (const [end, outcome] of [
      [OP.ABORT, []],
      [OP.COMMIT, TPE.ABORT],
    ] as const) {
      const [tx] = await client.ask(OP.BEGIN, 0);
      const spoils = client.ask(OP.DEQUEUE, at('TX'), null, TP.NOCHANGE, tx, TYPE.XML, '', 0);
      await expect(spoils).rejects.toMatchObject({ tperrno: TPE.OTYPE });
      await expect(put(client, 'TX', 'late', Number(tx))).rejects.toMatchObject({ tperrno: TPE.TIME });
      const ended = await client.ask(end, tx).catch((error: unknown) => (error as Refused).tperrno);
      expect(ended).toEqual(outcome);
      await expect(client.ask(OP.ABORT, tx)).rejects.toMatchObject({ tperrno: TPE.PROTO });
    }
    expect(await get(client, 'TX')).toBe('of another type');
  });

  it('is rolled back when its connection ends', async () => {
    const [client, other] = await Promise.all([peer.join(), peer.join()]);
    await put(other, 'GONE', 'survives');
    const [tx] = await client.ask(OP.BEGIN, 0);
    expect(await get(client, 'GONE', Number(tx))).toBe('survives');
    const parked = await park(other, 'GONE');
    client.drop();
    const [, , , data] = await other.answer(parked, OP.DEQUEUE);
    expect(bytesOf(data).toString()).toBe('survives');
  });
});

describe('a service', () => {
  it('is advertised, called and answered', async () => {
    const [server, caller] = await Promise.all([peer.join(), peer.join()]);
    expect(await server.ask(OP.ADVERTISE, 'UPPER', 2)).toEqual([]);
    const call = caller.ask(OP.CALL, 'UPPER', 0, 0, 0, ...text('words'));
    const [, id, name, flags, cltid, appkey, timeoutMs, ...data] = await server.request();
    expect([name, flags, appkey]).toEqual(['UPPER', 0, -1]);
    expect(bytesOf(cltid)).toEqual(caller.welcome?.cltid);
    expect(Number(timeoutMs)).toBeGreaterThan(0);
    expect(data).toEqual(text('words'));
    server.write(encode([OP.RETURN, id, RVAL.SUCCESS, 42, ...text('WORDS')]));
    expect(await call).toEqual([RVAL.SUCCESS, 42, ...text('WORDS')]);
  });

  it('fails with its data, whatever it returns but TPSUCCESS', async () => {
    const [server, caller] = await Promise.all([peer.join(), peer.join()]);
    await server.ask(OP.ADVERTISE, 'FAILS', 1);
    for (const rval of [RVAL.FAIL, RVAL.EXIT, 77, -1]) {
      const call = caller.ask(OP.CALL, 'FAILS', 0, 0, 0, ...NO_DATA);
      const [, id] = await server.request();
      server.write(encode([OP.RETURN, id, rval, -3, ...text('why')]));
      expect(await call).toEqual([RVAL.FAIL, -3, ...text('why')]);
    }
  });

  it('gets no more requests at a time than it takes', async () => {
    const [server, caller] = await Promise.all([peer.join(), peer.join()]);
    await server.ask(OP.ADVERTISE, 'ONE', 1);
    const calls = [1, 2].map((n) => caller.ask(OP.CALL, 'ONE', 0, 0, 0, ...text(`${n}`)));
    const first = await server.request();
    await caller.ask(OP.PING);
    await server.ask(OP.PING);
    expect(server.arrived.filter((frame) => frame[0] === OP.REQUEST)).toHaveLength(1);
    server.write(encode([OP.RETURN, first[1], RVAL.SUCCESS, 0, ...NO_DATA]));
    const second = await server.request();
    server.write(encode([OP.RETURN, second[1], RVAL.SUCCESS, 0, ...NO_DATA]));
    await Promise.all(calls);
    expect([bytesOf(first[9]).toString(), bytesOf(second[9]).toString()]).toEqual(['1', '2']);
  });

  it('that is too late, cancelled or gone does not leave its caller without an answer', async () => {
    const [server, caller] = await Promise.all([peer.join(), peer.join()]);
    await server.ask(OP.ADVERTISE, 'SILENT', 3);
    const late = caller.ask(OP.CALL, 'SILENT', 0, 0, 1, ...NO_DATA);
    await expect(late).rejects.toMatchObject({ tperrno: TPE.TIME });
    const [, lateId] = await server.request();
    server.write(encode([OP.RETURN, lateId, RVAL.SUCCESS, 0, ...NO_DATA]));
    const cancelled = caller.send(OP.CALL, 'SILENT', 0, 0, 0, ...NO_DATA);
    await server.request();
    expect(await caller.ask(OP.CANCEL, cancelled)).toEqual([true]);
    await expect(caller.answer(cancelled, OP.CALL)).rejects.toMatchObject({ tperrno: TPE.GOTSIG });
    const broken = caller.ask(OP.CALL, 'SILENT', 0, 0, 0, ...NO_DATA);
    await server.request();
    server.drop();
    await expect(broken).rejects.toMatchObject({ tperrno: TPE.SVCERR });
    const nobody = caller.ask(OP.CALL, 'SILENT', 0, 0, 0, ...NO_DATA);
    await expect(nobody).rejects.toMatchObject({ tperrno: TPE.NOENT });
  });

  it('whose connection says GOODBYE leaves TPESVCERR', async () => {
    const [server, caller] = await Promise.all([peer.join(), peer.join()]);
    await server.ask(OP.ADVERTISE, 'PARTS', 1);
    const call = caller.ask(OP.CALL, 'PARTS', 0, 0, 0, ...NO_DATA);
    const refused = expect(call).rejects.toMatchObject({ tperrno: TPE.SVCERR });
    await server.request();
    await server.ask(OP.GOODBYE);
    await refused;
  });

  it('is unadvertised; a request under way is still answered, one in turn is not', async () => {
    const [server, caller] = await Promise.all([peer.join(), peer.join()]);
    await server.ask(OP.ADVERTISE, 'LEAVES', 1);
    const call = caller.ask(OP.CALL, 'LEAVES', 0, 0, 0, ...NO_DATA);
    const inTurn = caller.ask(OP.CALL, 'LEAVES', 0, 0, 0, ...NO_DATA);
    const refused = expect(inTurn).rejects.toMatchObject({ tperrno: TPE.NOENT });
    const [, id] = await server.request();
    await caller.ask(OP.PING);
    expect(await server.ask(OP.UNADVERTISE, 'LEAVES')).toEqual([]);
    await refused;
    server.write(encode([OP.RETURN, id, RVAL.SUCCESS, 1, ...NO_DATA]));
    expect(await call).toEqual([RVAL.SUCCESS, 1, ...NO_DATA]);
    const after = caller.ask(OP.CALL, 'LEAVES', 0, 0, 0, ...NO_DATA);
    await expect(after).rejects.toMatchObject({ tperrno: TPE.NOENT });
    await expect(server.ask(OP.UNADVERTISE, 'LEAVES')).rejects.toMatchObject({ tperrno: TPE.NOENT });
  });

  it('can be of the connection that calls it', async () => {
    const client = await peer.join();
    await client.ask(OP.ADVERTISE, 'SELF', 1);
    const call = client.ask(OP.CALL, 'SELF', 0, 0, 0, ...NO_DATA);
    const [, id] = await client.request();
    client.write(encode([OP.RETURN, id, RVAL.SUCCESS, 0, ...NO_DATA]));
    expect(await call).toEqual([RVAL.SUCCESS, 0, ...NO_DATA]);
  });

  it('is refused under a bad name', async () => {
    const client = await peer.join();
    for (const name of ['', '.HIDDEN'])
      await expect(client.ask(OP.ADVERTISE, name, 1)).rejects.toMatchObject({ tperrno: TPE.INVAL });
  });

  it('joins the transaction of its caller, under a number of its own', async () => {
    const [server, caller] = await Promise.all([peer.join(), peer.join()]);
    await server.ask(OP.ADVERTISE, 'JOINS', 1);
    const [tx] = await caller.ask(OP.BEGIN, 0);
    const call = caller.ask(OP.CALL, 'JOINS', 0, tx, 0, ...NO_DATA);
    const [, id, , flags] = await server.request();
    expect(flags).toBe(TP.TRAN);
    const joined = Number(id) + JOINED;
    await server.ask(OP.ENQUEUE, at('JOINED'), null, 0, joined, ...text('by the service'));
    await expect(server.ask(OP.COMMIT, joined)).rejects.toMatchObject({ tperrno: TPE.PROTO });
    server.write(encode([OP.RETURN, id, RVAL.SUCCESS, 0, ...NO_DATA]));
    await call;
    const late = server.ask(OP.ENQUEUE, at('JOINED'), null, 0, joined, ...text('late'));
    await expect(late).rejects.toMatchObject({ tperrno: TPE.PROTO });
    await expect(get(caller, 'JOINED')).rejects.toMatchObject(noMessage);
    expect(await caller.ask(OP.COMMITAT, tx, 1)).toEqual([]);
    expect(await get(caller, 'JOINED')).toBe('by the service');
  });
});

describe('a transaction that is suspended', () => {
  it('goes on at another connection, once', async () => {
    const [one, other] = await Promise.all([peer.join(), peer.join()]);
    const [tx] = await one.ask(OP.BEGIN, 60);
    await one.ask(OP.ENQUEUE, at('JOINED'), null, 0, tx, ...text('carried'));
    const [tranid] = await one.ask(OP.SUSPEND, tx);
    one.drop();
    const [there, leftMs] = await other.ask(OP.RESUME, tranid);
    expect([Number(leftMs) > 0, Number(leftMs) <= 60_000]).toEqual([true, true]);
    await expect(other.ask(OP.RESUME, tranid)).rejects.toMatchObject({ tperrno: TPE.MATCH });
    expect(await other.ask(OP.COMMIT, there)).toEqual([]);
    await expect(other.ask(OP.RESUME, tranid)).rejects.toMatchObject({ tperrno: TPE.INVAL });
    expect(await get(other, 'JOINED')).toBe('carried');
  });
});

describe('a request, its forwarder, its service and the reply queue', () => {
  it('are all reached by clients written from the page', async () => {
    const [server, requester] = await Promise.all([peer.join(), peer.join()]);
    await server.ask(OP.ADVERTISE, 'ROUND', 1);
    const ctl = [Q.CORRID | Q.REPLYQ, CORRID, 'REPLIES', 11];
    await requester.ask(OP.ENQUEUE, at('ROUND'), ctl, 0, 0, ...text('there'));
    const [, id, name, , cltid, , , ...data] = await server.request();
    expect([name, ...data]).toEqual(['ROUND', ...text('there')]);
    expect(bytesOf(cltid)).toEqual(requester.welcome?.cltid);
    server.write(encode([OP.RETURN, id, RVAL.SUCCESS, 99, ...text('and back')]));
    const wants = [Q.WAIT | Q.GETBYCORRID | Q.CORRID, CORRID];
    const reply = await requester.ask(OP.DEQUEUE, at('REPLIES'), wants, TP.NOTIME, 0, ...ANY_TYPE, 0);
    expect(readCtl(reply[0])).toMatchObject({ flags: Q.CORRID, corrid: CORRID, urcode: 99 });
    expect(reply.slice(1)).toEqual(text('and back'));
    await expect(get(requester, 'ROUND')).rejects.toMatchObject(noMessage);
  });
});

describe('STAT', () => {
  it('is a map with the keys of the page', async () => {
    const client = await peer.join();
    await client.ask(OP.ADVERTISE, 'COUNTED', 1);
    const [top] = await client.ask(OP.STAT, '');
    expect(top).toMatchObject({
      version: expect.any(String),
      lmid: 'SITE1',
      uptimeMs: expect.any(Number),
      connections: expect.any(Number),
      transactions: expect.any(Number),
    });
    const { spaces, services, forwarders } = top as Record<string, Record<string, unknown>[]>;
    expect(spaces).toHaveLength(1);
    expect(spaces?.[0]).toMatchObject({
      ...numbers('messages', 'bytes', 'logBytes', 'roomBytes', 'batches', 'records'),
      name: 'QSPACE',
      device: expect.any(String),
      state: 'open',
      aliases: ['QSPACE'],
    });
    const queues = spaces?.[0]?.['queues'] as Record<string, unknown>[];
    expect(new Set(queues.map((queue) => queue['name']))).toEqual(new Set(QUEUES));
    for (const queue of queues)
      expect(queue).toMatchObject(
        numbers('messages', 'ready', 'delayed', 'locked', 'bytes', 'waiters', 'enqueued', 'dequeued'),
      );
    const service = services?.find((one) => one['name'] === 'COUNTED');
    expect(service).toMatchObject({ servers: 1, outstanding: 0, completed: 0, failed: 0 });
    expect(forwarders?.[0]).toMatchObject({ srvgrp: 'QUE1', queues: ['ROUND'] });
    expect(forwarders?.[0]).toMatchObject(numbers('srvid', 'forwarded', 'failed'));
  });

  it('tells of one space, and of no other', async () => {
    const client = await peer.join();
    const [one] = await client.ask(OP.STAT, 'QSPACE');
    expect((one as { spaces: unknown[] }).spaces).toHaveLength(1);
    await expect(client.ask(OP.STAT, 'NOSPACE')).rejects.toMatchObject({ tperrno: TPE.NOENT });
  });
});

describe('the end', () => {
  it('is said with GOODBYE: what was sent before it is answered before it', async () => {
    const [client, other] = await Promise.all([peer.join(), peer.join()]);
    const [parked, put1, bye, late] = [client.nextId(), client.nextId(), client.nextId(), client.nextId()];
    const wait = [OP.DEQUEUE, parked, at('PARKED'), [Q.WAIT], 0, 0, ...ANY_TYPE, 0];
    const enqueue = [OP.ENQUEUE, put1, at('ENDING'), null, 0, 0, ...text('kept')];
    client.write(Buffer.concat([wait, enqueue, [OP.GOODBYE, bye], [OP.PING, late]].map(encode)));
    await client.ended;
    const ids = client.arrived.slice(1).map((frame) => frame[1]);
    expect(new Set(ids)).toEqual(new Set([parked, put1, bye]));
    expect(client.arrived.at(-1)).toEqual([OP.GOODBYE + ANSWER, bye]);
    expect(await client.answer(put1, OP.ENQUEUE)).toEqual([null]);
    expect(await get(other, 'ENDING')).toBe('kept');
  });

  it('answers what waits and rolls back what is open', async () => {
    const [client, other] = await Promise.all([peer.join(), peer.join()]);
    const [tx] = await client.ask(OP.BEGIN, 0);
    await put(client, 'ENDING', 'never', Number(tx));
    const parked = await park(client, 'ENDING');
    const goodbye = client.send(OP.GOODBYE);
    await expect(client.answer(parked, OP.DEQUEUE)).rejects.toMatchObject({ tperrno: TPE.GOTSIG });
    expect(await client.answer(goodbye, OP.GOODBYE)).toEqual([]);
    await client.ended;
    expect(client.arrived.at(-1)).toEqual([OP.GOODBYE + ANSWER, goodbye]);
    await expect(get(other, 'ENDING')).rejects.toMatchObject(noMessage);
  });
});

// Unsolicited messages, frame by frame: NOTIFY, BROADCAST, what is pushed and its ACK [spec 3.6; PROTOCOL 5, 6].
import { describe, expect, it } from 'vitest';
import { TPERRNO, TPFLAG, TPU } from '../../proto/codes.ts';
import { daemonForAll, daemonForTest } from '../support/in-process.ts';
import type { Frame, RawClient } from '../support/raw-client.ts';

const daemon = daemonForAll({ spaces: [{ queues: ['Q'] }] });
const [NOTIFY, BROADCAST, ACK, PUSHED] = [18, 19, 20, 66];
const news = [1, '', Buffer.from('news')] as const;
const code = (frame: Frame): unknown => (frame[0] === 127 ? frame[2] : 'answered');

interface Joined {
  raw: RawClient;
  cltid: Uint8Array;
}

async function join(
  names: { usrname?: string; cltname?: string; flags?: number } = {},
  on = daemon,
): Promise<Joined> {
  const raw = await on.socket();
  const { usrname = '', cltname = '', flags = 0 } = names;
  const frame = await raw.ask(1, 1, 1, 1, usrname, cltname, '', '', flags, null, 'test');
  return { raw, cltid: frame[3] as Uint8Array };
}

/** Nothing has come but what is asked for here. */
async function nothing({ raw }: Joined): Promise<void> {
  await raw.ask(14, 99);
  expect(raw.frames).toEqual([]);
}

describe('NOTIFY', () => {
  it('without TPACK: answered when handed over; the message wants no ACK', async () => {
    const [from, to] = [await join(), await join()];
    expect(await from.raw.ask(NOTIFY, 2, to.cltid, 0, ...news)).toEqual([146, 2]);
    expect(await to.raw.next()).toEqual([PUSHED, 0, TPU.TPU_DIP, 1, '', Buffer.from('news')]);
  });

  it('without TPACK to a client that is gone, or ignores: success, and nothing', async () => {
    const [from, gone, deaf] = [await join(), await join(), await join({ flags: TPU.TPU_IGN })];
    await gone.raw.ask(2, 2);
    expect(code(await from.raw.ask(NOTIFY, 2, gone.cltid, 0, ...news))).toBe('answered');
    expect(code(await from.raw.ask(NOTIFY, 3, deaf.cltid, 0, ...news))).toBe('answered');
    await nothing(deaf);
  });

  it.each([
    [true, 'answered'],
    [false, TPERRNO.TPENOENT],
  ])('with TPACK: the answer waits for the ACK; handled %s: %s', async (handled, expected) => {
    const [from, to] = [await join(), await join({ flags: TPU.TPU_THREAD })];
    from.raw.send(NOTIFY, 2, to.cltid, TPFLAG.TPACK, ...news);
    const pushed = await to.raw.next();
    expect([pushed[0], pushed[1] !== 0, pushed[2]]).toEqual([PUSHED, true, TPU.TPU_THREAD]);
    await nothing(from);
    to.raw.send(ACK, pushed[1] as number, handled);
    expect(code(await from.raw.answer(2))).toBe(expected);
  });

  it('with TPACK: TPENOENT when the client is unknown, ignores, or goes before it has acknowledged', async () => {
    const [from, deaf, goes] = [await join(), await join({ flags: TPU.TPU_IGN }), await join()];
    expect(code(await from.raw.ask(NOTIFY, 2, new Uint8Array(16), TPFLAG.TPACK, ...news))).toBe(
      TPERRNO.TPENOENT,
    );
    expect(code(await from.raw.ask(NOTIFY, 3, deaf.cltid, TPFLAG.TPACK, ...news))).toBe(TPERRNO.TPENOENT);
    from.raw.send(NOTIFY, 4, goes.cltid, TPFLAG.TPACK, ...news);
    await goes.raw.next();
    goes.raw.reset();
    expect(code(await from.raw.answer(4))).toBe(TPERRNO.TPENOENT);
  });

  it('only the client that was told may acknowledge, and once', async () => {
    const [from, to, other] = [await join(), await join(), await join()];
    from.raw.send(NOTIFY, 2, to.cltid, TPFLAG.TPACK, ...news);
    const id = (await to.raw.next())[1] as number;
    other.raw.send(ACK, id, true);
    await nothing(other);
    await nothing(from);
    to.raw.send(ACK, id, true);
    expect(code(await from.raw.answer(2))).toBe('answered');
    to.raw.send(ACK, id, true);
    await nothing(to);
    await nothing(from);
  });

  it('with TPACK: TPETIME after BLOCKTIME, not with TPNOTIME; CANCEL ends it with TPGOTSIG', async () => {
    const small = await daemonForTest({});
    const [from, to] = [await join({}, small), await join({}, small)];
    from.raw.send(NOTIFY, 2, to.cltid, TPFLAG.TPACK, ...news);
    from.raw.send(NOTIFY, 3, to.cltid, TPFLAG.TPACK | TPFLAG.TPNOTIME, ...news);
    await to.raw.next();
    await to.raw.next();
    small.clock.advance(60_010);
    expect(code(await from.raw.answer(2))).toBe(TPERRNO.TPETIME);
    await nothing(from);
    expect(await from.raw.ask(8, 5, 3)).toEqual([136, 5, true]);
    expect(code(await from.raw.answer(3))).toBe(TPERRNO.TPGOTSIG);
  });

  it('flags that it does not take: TPEINVAL', async () => {
    const from = await join();
    expect(code(await from.raw.ask(NOTIFY, 2, from.cltid, TPFLAG.TPNOTRAN, ...news))).toBe(TPERRNO.TPEINVAL);
    expect(code(await from.raw.ask(BROADCAST, 3, null, null, null, TPFLAG.TPACK, ...news))).toBe(
      TPERRNO.TPEINVAL,
    );
  });
});

describe('BROADCAST', () => {
  it.each<[string, (string | null)[], string[]]>([
    ['nil matches all', [null, null, 'B'], ['user', 'nobody']],
    ['a name matches that name', [null, 'user', 'B'], ['user']],
    ['an empty string matches an empty name', [null, '', 'B'], ['nobody']],
    ['this machine', ['SITE1', null, 'B'], ['user', 'nobody']],
    ['another machine, or none', ['SITE2', null, 'B'], []],
    ['', ['', null, 'B'], []],
  ])('%s', async (_name, pattern, reached) => {
    const [from, user, nobody] = [
      await join(),
      await join({ usrname: 'user', cltname: 'B' }),
      await join({ cltname: 'B' }),
    ];
    const [lmid = null, usrname = null, cltname = null] = pattern;
    expect(await from.raw.ask(BROADCAST, 2, lmid, usrname, cltname, 0, ...news)).toEqual([147, 2]);
    const got: string[] = [];
    for (const [name, one] of Object.entries({ user, nobody })) {
      await one.raw.ask(14, 99);
      if (one.raw.frames.length > 0) got.push(name);
      await one.raw.ask(2, 98);
    }
    expect(got).toEqual(reached);
  });
});

describe('how a client takes them', () => {
  it('two ways at once: HELLO is refused with TPEINVAL', async () => {
    const raw = await daemon.socket();
    const frame = await raw.ask(1, 1, 1, 1, '', '', '', '', TPU.TPU_DIP | TPU.TPU_IGN, null, 'test');
    expect(code(frame)).toBe(TPERRNO.TPEINVAL);
  });

  it.each([
    ['SIGNAL', TPU.TPU_SIG],
    ['THREAD', TPU.TPU_THREAD],
    ['IGNORE', TPU.TPU_IGN],
  ])('NOTIFY %s is for clients that say nothing; their own flag overrides it', async (word, mode) => {
    const small = await daemonForTest({ resources: `NOTIFY ${word}` });
    const [from, silent, own] = [
      await join({}, small),
      await join({}, small),
      await join({ flags: TPU.TPU_DIP }, small),
    ];
    await from.raw.ask(NOTIFY, 2, silent.cltid, 0, ...news);
    await from.raw.ask(NOTIFY, 3, own.cltid, 0, ...news);
    if (mode === TPU.TPU_IGN) await nothing(silent);
    else expect((await silent.raw.next())[2]).toBe(mode);
    expect((await own.raw.next())[2]).toBe(TPU.TPU_DIP);
  });
});

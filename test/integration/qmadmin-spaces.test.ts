// The commands of qmadmin for the device list, queue spaces and what of them is in memory: with the daemon stopped and through a running one,
// with the same words; and what a daemon refuses while it serves a space.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { TPQ, TPQCTL, TPQQOS } from '../../clients/typescript/index.ts';
import { runScript, localDevice, type Ran } from '../support/qmadmin.ts';
import { type Place, withDaemon } from '../support/qmadmin-place.ts';

const SPACE = 'qspc -n 1000b SP 230458 100 4 5 5 200 ERR y 16';
const use = (what: string): string =>
  `queue space SERVED is in use: the daemon that serves it must be stopped before it can ${what}`;
const fields = ({ out }: Ran): string[] => out.map((line) => line.trim().replace(/ +/g, ' '));
const errors = ({ err }: Ran): string[] => err.map((line) => line.replace(/^qmadmin: line \d+: /, ''));

async function placeOf(mode: string): Promise<Place> {
  const place = await withDaemon();
  if (mode === 'stopped') await place.daemon.stop();
  return place;
}

describe.each(['stopped', 'running'])('with the daemon %s', (mode) => {
  it('entries of the device list are renamed and removed, but not what is in use', async () => {
    const { path, run } = await placeOf(mode);
    const ran = await run(
      'crdl /more 0 50',
      'crdl /last 0 10',
      'chdl 1 /elsewhere',
      'dsdl 2',
      'lidl',
      SPACE,
      'livtoc',
    );
    expect(ran.err).toEqual([]);
    expect(fields(ran)).toEqual([
      'INDEX DEVICE OFFSET PAGES',
      `0 ${path} 0 2000`,
      '1 /elsewhere 0 50',
      'TABLE INDEX DEVICE OFFSET PAGES',
      `SERVED 0 ${path} 0 100`,
      `SP 0 ${path} 100 100`,
    ]);
    const refused = await run('chdl 2 /x', 'dsdl 0', 'dsdl 5', `chdl 1 ${path}`, 'dsdl 1', 'dsdl -y 0');
    expect(errors(refused)).toEqual([
      'chdl: the device list has no entry 2; it has 2',
      'dsdl: entry 0 holds the tables of the device: it can only be removed as the last of 2',
      'dsdl: the device list has no entry 5; it has 2',
      'chdl: pages 0..49 overlap entry 0, which has 0..1999',
      'dsdl: entry 0 is in use: queue spaces have all but 1800 pages of the device list, and it gives 2000',
    ]);
    expect(fields(await run('chdl 0 /moved', 'lidl 0'))).toEqual([
      'INDEX DEVICE OFFSET PAGES',
      '0 /moved 0 2000',
    ]);
  });

  it('a space is changed: what is asked for and given, and no less than it holds', async () => {
    const { run } = await placeOf(mode);
    const ran = await run(
      SPACE,
      'qopen SP',
      'qcr Q fifo none 0 0 100% 0 ""',
      'qspch -A 7 SP 240000 6 7 300 ERR2 n 32',
      'qinfo',
      'v',
      'qspl SP',
    );
    // It is closed by the change.
    expect(errors(ran)).toEqual(['qinfo: no queue space is open; first: qopen SPACE']);
    expect(fields(ran)[1]).toBe('SP 240000 100 4 6 7 300 ERR2 32 7 1000 0 0 0 0 0 0');
    const more = await run(
      'qspacechange NONE 240000 6 7 300 ERR2 n 32',
      'qspacechange "" 1 1 1 1 E n 16',
      'qopen SP',
      'qi',
    );
    expect(errors(more)[0]).toMatch(/^qspacechange: queue space NONE does not exist on device /);
    expect(errors(more)[1]).toMatch(/^qspacechange: queue space name: an empty value is not legal/);
    expect(more.out).toHaveLength(1);
  });

  it('a space gets pages of the device list', async () => {
    const { path, run } = await placeOf(mode);
    const ran = await run(
      SPACE,
      'qaddext SP 50',
      'qaddext SP 1751',
      'qaddext NONE 1',
      'qaddext SP 0',
      'qspl SP',
      'livtoc',
      'v',
      'lidl',
    );
    expect(errors(ran)).toEqual([
      'qaddext: 1751 pages do not fit: the device list has 1750 free pages',
      `qaddext: queue space NONE does not exist on device ${path}`,
      'qaddext: number of pages: 0 is not legal; legal: a whole number, 1..2147483647',
    ]);
    expect(fields(ran)).toEqual([
      'NAME IPCKEY PAGES QUEUES TRANS PROCS MSGS ERRORQ BLOCKING',
      'SP 230458 150 4 5 5 200 ERR 16',
      'TABLE INDEX DEVICE OFFSET PAGES',
      `SERVED 0 ${path} 0 100`,
      `SP 0 ${path} 100 100`,
      `SP 0 ${path} 200 50`,
      'INDEX DEVICE OFFSET PAGES',
      `0 ${path} 0 2000`,
      'taken by SERVED: 100 pages',
      'taken by SP: 150 pages',
      'free: 1750 pages',
    ]);
  });

  it('a space is destroyed, and its pages are free; one that is not there is said', async () => {
    const { path, run } = await placeOf(mode);
    const ran = await run(SPACE, 'qopen SP', 'qspacedestroy SP', 'qinfo', 'qspds -y SP', 'qspl', 'v', 'lidl');
    expect(errors(ran)).toEqual([
      'qinfo: no queue space is open; first: qopen SPACE',
      `qspacedestroy: queue space SP does not exist on device ${path}`,
    ]);
    expect(fields(ran).map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual([
      'NAME IPCKEY PAGES',
      'SERVED 230400 100',
      'INDEX DEVICE OFFSET',
      `0 ${path} 0`,
      'taken by SERVED:',
      'free: 1900 pages',
    ]);
    expect(readdirSync(path).sort()).toEqual(['LOCK', 'SERVED', 'device-list.json']);
    expect((await run(SPACE, 'qopen SP', 'qinfo')).err).toEqual([]);
  });

  it('a space that cannot be read is destroyed by force only', async () => {
    const { path, run } = await placeOf(mode);
    await run(SPACE);
    rmSync(`${path}/SP/000000000001.log`);
    const ran = await run('qspds SP', 'qspds -fy SP', 'qspl SP');
    expect(ran.err[0]).toMatch(/^qmadmin: line 1: qspacedestroy: .*000000000001\.log/);
    expect(errors(ran).slice(1)).toEqual([`qspacelist: queue space SP does not exist on device ${path}`]);
  });

  it('ipcrm of a script before there is anything is reported, and the script goes on', async () => {
    const { path, run } = await placeOf(mode);
    const ran = await run(
      'ipcrm -y SP',
      SPACE,
      'ipcrm -f -y SP',
      'ipcrm -fy SP',
      'qopen SP',
      'ipcs SP',
      'ipcrm SP',
      'ipcs SP',
      'qi',
      'ipcs NO',
    );
    expect(errors(ran)).toEqual([
      `ipcrm: queue space SP does not exist on device ${path}`,
      'qinfo: no queue space is open; first: qopen SPACE',
      `ipcs: queue space NO does not exist on device ${path}`,
    ]);
    const header = 'SPACE STATE IPCKEY MESSAGES NONPERSIST BYTES TRANS';
    expect(fields(ran)).toEqual([header, 'SP open 230458 0 0 0 0', header, 'SP closed - - - - -']);
  });

  it('a queue is paused, resumed, and destroyed by the rules', async () => {
    const { run } = await placeOf(mode);
    const ran = await run(
      SPACE,
      'qopen SP',
      'qcr Q fifo none 1 0 100% 0 ""',
      'v',
      'qpause Q enq',
      'qch Q none 2 0 100% 0 ""',
      'qi Q',
      'qpause Q',
      'qi Q',
      'qresume Q deq',
      'qi Q',
      'qresume Q',
      'qi Q',
      'qpause Q both',
      'qpause NO',
      'qdestroy -p -f Q',
      'qdestroy NO',
      'qdestroy Q',
      'qi',
    );
    expect(ran.out.filter((line) => line.includes('paused'))).toEqual(
      ['enqueue', 'enqueue, dequeue', 'enqueue', 'no'].map((ways) => `  paused: ${ways}`),
    );
    expect(ran.out.filter((line) => line.includes('retries: 2'))).toHaveLength(4);
    expect(errors(ran)).toEqual([
      'qpause: direction: both is not legal; legal: enq or deq',
      'qpause: queue space SP has no queue NO',
      'qdestroy: -p and -f exclude each other: -f does what -p does',
      'qdestroy: queue space SP has no queue NO',
    ]);
    expect(ran.out.at(-1)).toBe('  paused: no');
  });

  it('qsize and history need nothing', async () => {
    const { run } = await placeOf(mode);
    const ran = await run('qsize 100 3 5 5 1000', 'qsize -n 1000b 100 3 5 5 1000', '!true', 'history');
    expect(fields(ran)).toEqual([
      'MEMORY NONPERSIST DISK SEMAPHORES',
      '213248 0 268793856 0',
      'MEMORY NONPERSIST DISK SEMAPHORES',
      '214248 1000 268793856 0',
      '1 qsize 100 3 5 5 1000',
      '2 qsize -n 1000b 100 3 5 5 1000',
      '3 !true',
      '4 history',
    ]);
  });
});

describe('with messages', () => {
  it('a space that a daemon serves must not be changed, extended or destroyed', async () => {
    const { path, daemon, run } = await withDaemon();
    await (await daemon.join()).tpenqueue('ALIAS', 'Q', null, 'kept');
    const ran = await run(
      'qspch SERVED 230400 5 5 100 ERR n 16',
      'qaddext SERVED 5',
      'qspds SERVED',
      'qspds -f SERVED',
      'qopen SERVED',
      'qdestroy Q',
      'qdestroy -p Q',
      'qi',
    );
    expect(errors(ran)).toEqual([
      `qspacechange: ${use('be changed')}`,
      `qaddext: ${use('get pages')}`,
      `qspacedestroy: ${use('be destroyed')}`,
      `qspacedestroy: ${use('be destroyed')}`,
      ...['', ''].map(
        () =>
          'qdestroy: queue space SERVED is in use: a daemon serves it; -f destroys the queue all the same, with what is on it',
      ),
    ]);
    expect(ran.out).toEqual([expect.stringMatching(/^Queue Q: 1 persistent/)]);
    expect(existsSync(`${path}/SERVED`)).toBe(true);
    const forced = await run('qopen SERVED', 'qdestroy -f Q', 'qi');
    expect(forced).toMatchObject({ err: [], out: [] });
  });

  it('a stopped space with messages is destroyed by force only, and takes no fewer than it has', async () => {
    const { daemon, run } = await withDaemon();
    const ctx = await daemon.join();
    for (const data of ['a', 'b']) await ctx.tpenqueue('ALIAS', 'Q', null, data);
    await daemon.stop();
    const ran = await run(
      'qspch SERVED 230400 5 5 1 ERR n 16',
      'qopen SERVED',
      'qdestroy Q',
      'qspds SERVED',
      'qspl SERVED',
      'qopen SERVED',
      'qdestroy -p Q',
      'qspds SERVED',
    );
    expect(errors(ran)).toEqual([
      'qspacechange: 1 is too few: the space holds 2 messages (2205)',
      'qdestroy: queue Q holds 2 messages; it stays: -p destroys it with them',
      'qspacedestroy: queue space SERVED holds 2 messages and 0 transactions in doubt; it stays: -f destroys it with them',
    ]);
    expect((await run('qspl')).out).toHaveLength(1);
  });

  it('ipcrm of a served space needs force, and removes what is not persistent and in no transaction', async () => {
    const { daemon, run } = await withDaemon();
    const ctx = await daemon.join();
    const put = (data: string, delivery_qos: number): Promise<unknown> =>
      ctx.tpenqueue('ALIAS', 'Q', new TPQCTL({ flags: TPQ.TPQDELIVERYQOS, delivery_qos }), data);
    for (const data of ['held', 'gone', 'gone too']) await put(data, TPQQOS.TPQQOSNONPERSISTENT);
    for (const data of ['kept', 'kept too']) await put(data, TPQQOS.TPQQOSPERSISTENT);
    const other = await daemon.join();
    await other.tpbegin(60);
    expect((await other.tpdequeue('ALIAS', 'Q', null, null)).data).toBe('held');

    const ran = await run(
      'ipcs SERVED',
      'ipcrm -y SERVED',
      'ipcrm -f -y SERVED',
      'ipcs SERVED',
      'qopen SERVED',
      'qi Q',
    );
    expect(errors(ran)).toEqual([
      'ipcrm: queue space SERVED is in use: a daemon serves it; stop the daemon, or say -f, which removes the non-persistent messages that no transaction holds',
    ]);
    expect(
      fields(ran)
        .filter((line) => line.startsWith('SERVED'))
        .map((line) => line.replace(/ \d+ (\d+)$/, ' B $1')),
    ).toEqual(['SERVED served 230400 5 3 B 1', 'SERVED served 230400 3 1 B 1']);
    expect(ran.out.at(-1)).toMatch(/^Queue Q: 2 persistent messages in \d+ pages, 1 non-persistent/);
    await other.tpabort();
    expect((await ctx.tpdequeue('ALIAS', 'Q', null, null)).data).not.toContain('gone');
  });
});

it('ipcrm finds what is not persistent among many that are', async () => {
  const { daemon, run } = await withDaemon('300000b', 4000);
  const ctx = await daemon.join();
  await ctx.transaction(async (tx) => {
    const put = (_: unknown, i: number): Promise<unknown> => {
      const delivery_qos = i % 3 === 0 ? TPQQOS.TPQQOSNONPERSISTENT : TPQQOS.TPQQOSPERSISTENT;
      const ctl = new TPQCTL({ flags: TPQ.TPQDELIVERYQOS, delivery_qos });
      return tx.tpenqueue('ALIAS', 'Q', ctl, String(i));
    };
    await Promise.all(Array.from({ length: 2600 }, put));
  });
  const counts = async (): Promise<string[]> => {
    const { out } = await run('qopen SERVED', 'qinfo Q');
    return (out[0] ?? '').match(/\d+(?= persistent|(?= non-persistent))/g) ?? [];
  };
  expect(await counts()).toEqual(['1733', '867']);
  expect((await run('ipcrm -fy SERVED')).err).toEqual([]);
  expect(await counts()).toEqual(['1733', '0']);
  const left = await ctx.tpdequeue('ALIAS', 'Q', null, null);
  expect(left.data).toBe('1');
});

describe('a crash', () => {
  it('between the device list and the space: the pages are not lost', async () => {
    const { path, daemon, run } = await withDaemon();
    await daemon.stop();
    await run(SPACE);
    // The list says already what the space does not yet.
    const list = JSON.parse(readFileSync(`${path}/device-list.json`, 'utf8')) as { extents: object[] };
    list.extents.push({ space: 'SP', pages: 500 });
    writeFileSync(`${path}/device-list.json`, JSON.stringify(list));
    expect((await run('qaddext SP 10', 'v', 'lidl')).out.at(-1)).toBe('free: 1790 pages');
  });

  it('while a space is removed: it is gone, and what is left of it goes with the next one', async () => {
    const { path, daemon, run } = await withDaemon();
    await daemon.stop();
    mkdirSync(`${path}/SP.gone`);
    writeFileSync(`${path}/SP.gone/000000000001.log`, 'x');
    expect((await run('qspl')).out).toHaveLength(2);
    expect((await runScript([SPACE, 'qspl'], localDevice(path))).out).toHaveLength(3);
    expect(readdirSync(path).sort()).toEqual(['LOCK', 'SERVED', 'SP', 'device-list.json']);
  });
});

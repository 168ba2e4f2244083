// ADMIN requests about devices, as any client may send them: what is refused, with which code; lists; spaces by `device:name`.
import { describe, expect, it } from 'vitest';
import type { Context } from '../../clients/typescript/index.ts';
import { TpError, TPERRNO, QME } from '../../clients/typescript/index.ts';
import { ADMIN } from '../../proto/codes.ts';
import type { Members } from '../../proto/message.ts';
import { withDaemon } from '../support/qmadmin-place.ts';

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'done';
  } catch (error) {
    if (!TpError.is(error)) throw error;
    const { tperrno, diagnostic, text } = error;
    const table = tperrno === TPERRNO.TPEDIAGNOSTIC ? QME : TPERRNO;
    const value = tperrno === TPERRNO.TPEDIAGNOSTIC ? diagnostic : tperrno;
    return `${Object.entries(table).find(([, one]) => one === value)?.[0]}: ${text}`;
  }
}

describe('a request about a device', () => {
  it('that is not right is refused, and nothing changes', async () => {
    const { path: device, daemon } = await withDaemon();
    const ctx = await daemon.join();
    const rows: [number, { qspace?: string; qname?: string; members?: Members }, string][] = [
      [ADMIN.DEVLIST, {}, 'QMEINVAL: device: a path is needed'],
      [ADMIN.DEVLIST, { members: { device: '/none' } }, 'TPENOENT: this daemon has no device /none'],
      [ADMIN.DEVLIST, { members: { device: 7 } }, 'QMEINVAL: device: a path is needed'],
      [ADMIN.DEVLIST, { qspace: 'X', members: { device } }, 'TPEINVAL: this verb takes no queue space'],
      [ADMIN.DEVLIST, { qname: 'X', members: { device } }, 'TPEINVAL: this verb takes no queue name'],
      [
        ADMIN.DEVLIST,
        { members: { device, more: 1 } },
        'QMEINVAL: more is no member of this verb; legal: device, after',
      ],
      [
        ADMIN.DEVLIST,
        { members: { device, after: -1 } },
        'QMEINVAL: after: -1 is not legal; legal: a whole number',
      ],
      [ADMIN.DEVADD, { members: { device, entry: '/x', pages: 5 } }, 'QMEINVAL: offset is not given'],
      [
        ADMIN.DEVADD,
        { members: { device, entry: '/x', offset: 0, pages: 0 } },
        'QMEINVAL: pages: 0 is not legal',
      ],
      [
        ADMIN.DEVADD,
        { members: { device, entry: '', offset: 0, pages: 1 } },
        'QMEINVAL: entry: "" is not legal',
      ],
      [
        ADMIN.DEVADD,
        { members: { device, entry: device, offset: 0, pages: 2000 } },
        'TPEMATCH: the entry exists already',
      ],
      [ADMIN.DEVREMOVE, { members: { device, index: 0 } }, 'QMESHARE: entry 0 is in use'],
      [ADMIN.DEVREMOVE, { members: { device, index: 1 } }, 'TPENOENT: the device list has no entry 1'],
      [ADMIN.QSPACEATTR, { members: { device } }, 'TPEINVAL: the name of the queue space is empty'],
      [ADMIN.QSPACEATTR, { qspace: 'NO', members: { device } }, 'TPENOENT: queue space NO does not exist'],
      [ADMIN.QSPACECREATE, { qspace: 'S', members: { device } }, 'QMEINVAL: pages: 0 is not legal'],
      [
        ADMIN.QSPACECREATE,
        { qspace: 'S', members: { device, pages: 1901 } },
        'QMENOSPACE: 1901 pages do not fit',
      ],
      [
        ADMIN.QSPACECREATE,
        { qspace: 'SERVED', members: { device, pages: 1 } },
        'TPEMATCH: queue space SERVED exists',
      ],
      [ADMIN.QSPACECREATE, { qspace: 'A234567890123456', members: { device, pages: 1 } }, 'QMEINVAL: name: '],
      [
        ADMIN.QSPACECREATE,
        { qspace: 'S', members: { device, pages: 1, blocking: 0 } },
        'QMEINVAL: blocking: 0 is not',
      ],
      [
        ADMIN.QSPACECREATE,
        { qspace: 'S', members: { device, pages: 1, ipcKey: 262_144 } },
        'QMEINVAL: ipcKey: 262144',
      ],
      [
        ADMIN.QSPACECREATE,
        { qspace: 'S', members: { device, pages: 1, messages: true } },
        'QMEINVAL: messages: true',
      ],
      [
        ADMIN.QSPACECREATE,
        { qspace: 'S', members: { device, pages: 1, errorQueue: 5 } },
        'QMEINVAL: errorQueue: 5',
      ],
      [
        ADMIN.QSPACECREATE,
        { qspace: 'S', members: { device, pages: 1, toString: 1 } },
        'QMEINVAL: toString: 1',
      ],
      [
        ADMIN.QSPACECREATE,
        { qspace: 'S', members: { device, pages: 1, name: 'T' } },
        'QMEINVAL: name: "T" is not legal',
      ],
      [
        ADMIN.QSPACECHANGE,
        { qspace: 'SERVED', members: { device, pages: 5 } },
        'QMEINVAL: pages: they are added by',
      ],
      [
        ADMIN.QSPACECHANGE,
        { qspace: 'SERVED', members: { device, queues: 5 } },
        'QMEINVAL: queues: their number',
      ],
      [
        ADMIN.QSPACECHANGE,
        { qspace: 'SERVED', members: { device, actions: 5 } },
        'QMESHARE: queue space SERVED is in use',
      ],
      [
        ADMIN.QSPACEADD,
        { qspace: 'SERVED', members: { device, pages: 0 } },
        'QMEINVAL: pages: 0 is not legal',
      ],
      [
        ADMIN.QSPACEADD,
        { qspace: 'SERVED', members: { device, pages: 1 } },
        'QMESHARE: queue space SERVED is in use',
      ],
      [
        ADMIN.QSPACEDESTROY,
        { qspace: 'SERVED', members: { device, force: true } },
        'QMESHARE: queue space SERVED is',
      ],
      [
        ADMIN.QSPACEDESTROY,
        { qspace: 'SERVED', members: { device, force: 1 } },
        'QMEINVAL: force: 1 is not legal',
      ],
      [ADMIN.IPCRM, { qspace: 'SERVED', members: { device } }, 'QMESHARE: queue space SERVED is in use'],
      [
        ADMIN.QSPACEOPEN,
        { qspace: '../dev', members: { device } },
        'TPENOENT: queue space ../dev does not exist',
      ],
    ];
    const before = await contentsOf(ctx, device);
    const found = await Promise.all(rows.map(([verb, question]) => codeOf(ctx.administer(verb, question))));
    expect(found).toEqual(rows.map(([, , begin]) => expect.stringContaining(begin)));
    expect(await contentsOf(ctx, device)).toEqual(before);
  });

  it('shows a list from any row on', async () => {
    const { path: device, daemon } = await withDaemon();
    const ctx = await daemon.join();
    const names = Array.from({ length: 24 }, (_, i) => `/${String(i).padStart(1000, 'x')}`);
    for (const entry of names) {
      await ctx.administer(ADMIN.DEVADD, { members: { device, entry, offset: 0, pages: 1 } });
    }
    const first = await ctx.administer(ADMIN.DEVLIST, { members: { device, after: 20 } });
    expect(first.items.map((item) => item['device'] ?? item['space'])).toEqual([
      ...names.slice(19),
      'SERVED',
    ]);
    expect(first.members).toEqual({ more: false, all: 26 });
    expect(
      await codeOf(ctx.administer(ADMIN.DEVADD, { members: { device, entry: '/y', offset: 0, pages: 1 } })),
    ).toBe('QMENOSPACE: the device list is full: 25 entries');
  });

  it('several at a time are done one after the other', async () => {
    const { path: device, daemon } = await withDaemon();
    const ctx = await daemon.join();
    const names = ['A', 'B', 'A', 'C'];
    const made = await Promise.all(
      names.map((qspace) =>
        codeOf(ctx.administer(ADMIN.QSPACECREATE, { qspace, members: { device, pages: 600 } })),
      ),
    );
    expect(made).toEqual([
      'done',
      'done',
      expect.stringContaining('TPEMATCH: queue space A exists already'),
      'done',
    ]);
    const opened = await Promise.all(
      ['A', 'A', 'B'].map((qspace) => ctx.administer(ADMIN.QSPACEOPEN, { qspace, members: { device } })),
    );
    expect(opened.map(({ members }) => members)).toEqual(
      ['A', 'A', 'B'].map((name) => ({ qspace: `${device}:${name}`, served: false })),
    );
    const admin = ctx.admin(`${device}:A`);
    await admin.create('Q');
    expect((await ctx.admin('A').list()).queues.map(({ name }) => name)).toEqual(['Q']);
    await ctx.administer(ADMIN.IPCRM, { qspace: 'A', members: { device } });
    expect(await codeOf(admin.info('Q'))).toContain('TPENOENT');
    // What is open for administration is closed with the daemon: it can be opened again.
    await daemon.restart();
    const again = await daemon.join();
    await again.administer(ADMIN.QSPACEOPEN, { qspace: 'A', members: { device } });
    expect((await again.admin('A').info('Q')).name).toBe('Q');
  });
});

async function contentsOf(ctx: Context, device: string): Promise<unknown> {
  const lists = [ADMIN.DEVLIST, ADMIN.QSPACELIST].map((verb) =>
    ctx.administer(verb, { members: { device } }),
  );
  return Promise.all(lists);
}

// How space-v1.json was made, once, by hand: `node dist/test/golden/make-space.js > test/golden/space-v1.json`. A released one is never
// made again; a new log format gets a new file beside it (FORMAT.md, "Versions"). Its records: messages of
// every sort, removals, retries, a move to the error queue, a place, a threshold, definitions.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { tpinit, TPQ, TPQCTL, typed, type Context } from '../../clients/typescript/index.ts';
import { Daemon } from '../../src/boot/daemon.ts';
import { SystemClock } from '../../src/boot/system-clock.ts';
import { parseDomain } from '../../src/ubb/domain.ts';
import { planHost } from '../../src/ubb/plan.ts';

const SEGMENT_BYTES = 64 * 1024;
const BIG_BYTES = 150_000;
const SILENT = { info: (): void => {}, warn: (): void => {}, error: (): void => {} };
const UBB = `*RESOURCES
IPCKEY 52617
MASTER SITE1
MODEL SHM
*MACHINES
"localhost" LMID=SITE1 APPDIR="." TUXDIR="/opt/tuxedo" TUXCONFIG="/opt/tuxedo/tuxconfig"
*GROUPS
QUE1 LMID=SITE1 GRPNO=1 TMSNAME=TMS_QM TMSCOUNT=2 OPENINFO="TUXEDO/QM:data:GOLDEN"
*SERVERS
TMQUEUE SRVGRP=QUE1 SRVID=20 CLOPT="-s GOLDEN:TMQUEUE -- -t 30"
*QSPACES
GOLDEN SRVGRP=QUE1 ERRORQ=ERRQ
*QUEUES
DEFAULT: QSPACE=GOLDEN RETRIES=1
STRING ORDER="fifo" HIGH="3m" LOW="1m" CMD="true"
BIG ORDER="priority,fifo" OUTOFORDER="top,msgid"
LATE ORDER="time,fifo"
ERRQ ORDER="fifo"
`;

const dir = mkdtempSync(join(tmpdir(), 'tmqueue-golden-'));
try {
  await life(fill);
  await life(async (ctx) => {
    await put(ctx, 'STRING', 'of the second life', {});
  });
  const space = join(dir, 'data/GOLDEN');
  const files = readdirSync(space).map((name) => [
    name,
    deflateRawSync(readFileSync(join(space, name))).toString('base64'),
  ]);
  const queued = {
    STRING: ['kept', 'of the second life'],
    BIG: ['before', 'urgent', ['x', BIG_BYTES]],
    LATE: ['later', 'expires in 2286'],
    ERRQ: ['too often'],
  };
  const golden = { format: 1, space: 'GOLDEN', ubbconfig: UBB, files: Object.fromEntries(files), queued };
  process.stdout.write(`${JSON.stringify(golden, null, 2)}\n`);
} finally {
  rmSync(dir, { recursive: true, force: true });
}

async function life(work: (ctx: Context) => Promise<void>): Promise<void> {
  const result = planHost(parseDomain({ file: 'ubbconfig', directory: dir, bytes: Buffer.from(UBB) }), {
    lmid: undefined,
    hostname: 'localhost',
    appdir: dir,
  });
  if (!result.ok) throw new Error(result.fault.message);
  const ports = {
    clock: new SystemClock(),
    ulog: SILENT,
    onFailure: (): void => {},
    signal: new AbortController().signal,
  };
  const listen = [{ host: '127.0.0.1', port: 0 }];
  const daemon = await Daemon.start(
    { plan: result.plan, listen, device: { segmentBytes: SEGMENT_BYTES } },
    ports,
  );
  const ctx = await tpinit({ address: `//127.0.0.1:${daemon.addresses[0]?.port ?? 0}` });
  await work(ctx);
  await ctx.tpterm();
  await daemon.stop('made');
}

async function put(
  ctx: Context,
  queue: string,
  text: string,
  members: ConstructorParameters<typeof TPQCTL>[0],
): Promise<TPQCTL> {
  const ctl = new TPQCTL({ ...members, flags: (members?.flags ?? 0) | TPQ.TPQMSGID });
  await ctx.tpenqueue('GOLDEN', queue, ctl, typed('STRING', '', Buffer.from(text)), 0);
  return ctl;
}

async function fill(ctx: Context): Promise<void> {
  const corrid = {
    flags: TPQ.TPQCORRID | TPQ.TPQREPLYQ | TPQ.TPQFAILUREQ,
    corrid: 'golden',
    replyqueue: 'R',
    failurequeue: 'F',
  };
  await put(ctx, 'STRING', 'taken', {});
  await put(ctx, 'STRING', 'too often', {});
  await put(ctx, 'STRING', 'kept', corrid);
  await put(ctx, 'BIG', 'x'.repeat(BIG_BYTES), {});
  const urgent = await put(ctx, 'BIG', 'urgent', { flags: TPQ.TPQPRIORITY, priority: 90 });
  await put(ctx, 'BIG', 'before', { flags: TPQ.TPQBEFOREMSGID, msgid: urgent.msgid });
  await put(ctx, 'LATE', 'expires in 2286', { flags: TPQ.TPQEXPTIME_ABS, exp_time: 9_999_999_999 });
  await put(ctx, 'LATE', 'later', { flags: TPQ.TPQTIME_ABS, deq_time: 1_000_000_000 });
  await ctx.tpdequeue('GOLDEN', 'STRING', null, null, 0);
  // The first one is rolled back twice: one retry, then the error queue. The one behind it once.
  for (let i = 0; i < 3; i++) {
    await ctx.tpbegin(30);
    await ctx.tpdequeue('GOLDEN', 'STRING', new TPQCTL(), null, 0);
    await ctx.tpabort();
  }
}

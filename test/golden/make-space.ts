// Makes a space of the present format with every kind of record and a checkpoint, beside those that are there: `npm run golden`. It never writes
// over one: the first of a format is space-v<format>.json, further ones get a letter. A released one is never made again (FORMAT.md, "Versions").
// What must be in it is checked here and by space.test.ts: a new kind of record belongs into `fill` or `after`.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { tpinit, TPQ, TPQCTL, typed, type Context } from '../../clients/typescript/index.ts';
import { Daemon } from '../../src/boot/daemon.ts';
import { SystemClock } from '../../src/boot/system-clock.ts';
import { changeMessages, type MessageChange } from '../../src/engine/message-change.ts';
import { openSpace } from '../../src/engine/open-space.ts';
import type { SpaceEngine } from '../../src/engine/space-engine.ts';
import {
  AQ_TYPE,
  QUEUE_DEFAULTS,
  RETENTION_INFINITE,
  type AqAttributes,
} from '../../src/queue/attributes.ts';
import { OBJECT } from '../../src/queue/catalog.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { EVERYTHING } from '../../src/queue/selection.ts';
import { parseDomain } from '../../src/ubb/domain.ts';
import { planHost } from '../../src/ubb/plan.ts';
import { nodeFileIo } from '../../src/wal/local/file-io.ts';
import { openLocalLog } from '../../src/wal/local/local-log.ts';
import { PageCache } from '../../src/wal/local/page-cache.ts';
import { FORMAT_VERSION } from '../../src/wal/local/frame.ts';
import { markedFirst } from '../../src/wal/local/segment.ts';
import { AqTake, PLAIN_CONSUMER, PLAIN_TABLE } from '../support/aq-bench.ts';
import { properties } from '../support/queue-values.ts';
import { missingIn } from '../support/golden-space.ts';

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
QUE2 LMID=SITE1 GRPNO=2 TMSNAME=TMS_QM TMSCOUNT=2 OPENINFO="TUXEDO/QM:data2:OTHER"
*SERVERS
TMQUEUE SRVGRP=QUE1 SRVID=20 CLOPT="-s GOLDEN:TMQUEUE -- -t 30"
TMQUEUE SRVGRP=QUE2 SRVID=21 CLOPT="-s OTHER:TMQUEUE -- -t 30"
*QSPACES
OTHER SRVGRP=QUE2
GOLDEN SRVGRP=QUE1 ERRORQ=ERRQ
*QUEUES
DEFAULT: QSPACE=GOLDEN RETRIES=1
STRING ORDER="fifo" HIGH="3m" LOW="1m" CMD="true"
BIG ORDER="priority,fifo" OUTOFORDER="top,msgid"
LATE ORDER="time,fifo" HIGH="2m" LOW="0m" CMD="true"
ERRQ ORDER="fifo"
CHURN ORDER="fifo"
SHORT ORDER="fifo" RETRIES=0
THERE QSPACE=OTHER
`;

const CHURN_BYTES = 20_000;
const POLL_MS = 20;

const dir = mkdtempSync(join(tmpdir(), 'tmqueue-golden-'));
const space = join(dir, 'data/GOLDEN');
try {
  await life(async (ctx) => {
    await fill(ctx);
    await writeOver(ctx);
    await after(ctx);
  });
  await administer();
  await life(async (ctx) => {
    await put(ctx, 'STRING', 'of the second life', {});
  });
  const missing = await missingIn(space);
  if (missing.length > 0)
    throw new Error(`not in the space that was made: ${missing.join(', ')}: extend fill or after`);
  const files = readdirSync(space).map((name) => [
    name,
    deflateRawSync(readFileSync(join(space, name))).toString('base64'),
  ]);
  const queued = {
    STRING: ['kept', 'of the second life'],
    BIG: ['before', 'urgent', ['x', BIG_BYTES]],
    LATE: ['later', 'expires in 2286', 'put over both'],
    ERRQ: ['too often', 'too often later'],
    CHURN: [],
    SHORT: ['moved by an administrator'],
  };
  const golden = {
    format: FORMAT_VERSION,
    space: 'GOLDEN',
    ubbconfig: UBB,
    files: Object.fromEntries(files),
    queued,
    beside: 2,
  };
  const path = freePath();
  writeFileSync(path, `${JSON.stringify(golden, null, 2)}\n`);
  process.stdout.write(`${path}\n`);
} finally {
  rmSync(dir, { recursive: true, force: true });
}

function freePath(): string {
  for (const letter of ['', ...'bcdefghijklmnopqrstuvwxyz'.split('')]) {
    const path = join(process.cwd(), 'test/golden', `space-v${FORMAT_VERSION}${letter}.json`);
    if (!existsSync(path)) return path;
  }
  throw new Error(`there are too many spaces of format ${FORMAT_VERSION}`);
}

/** Until the log's beginning is reclaimed, with what is queued restated, and a checkpoint is in place. */
async function writeOver(ctx: Context): Promise<void> {
  for (;;) {
    await put(ctx, 'CHURN', 'c'.repeat(CHURN_BYTES), {});
    await ctx.tpdequeue('GOLDEN', 'CHURN', null, null, 0);
    const names = readdirSync(space);
    const isTrimmed = names.some((name) => markedFirst(name) > 1);
    if (isTrimmed && names.some((name) => name.endsWith('.checkpoint'))) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** What the log holds behind the checkpoint. */
async function after(ctx: Context): Promise<void> {
  // Larger than a segment: a batch of several frames.
  await put(ctx, 'BIG', 'x'.repeat(BIG_BYTES), {});
  await overBoth(ctx);
  const admin = ctx.admin('GOLDEN');
  await admin.create('GONE', {});
  await put(ctx, 'GONE', 'with its queue', {});
  await admin.destroy('GONE', { purge: true });
  const urgent = new TPQCTL({ flags: TPQ.TPQPEEK | TPQ.TPQMSGID });
  await ctx.tpdequeue('GOLDEN', 'BIG', urgent, null, 0);
  await put(ctx, 'BIG', 'placed and taken', { flags: TPQ.TPQBEFOREMSGID, msgid: urgent.msgid });
  await ctx.tpdequeue('GOLDEN', 'BIG', null, null, 0);
  await put(ctx, 'SHORT', 'too often later', {});
  for (const queue of ['SHORT', 'BIG']) {
    await ctx.tpbegin(30);
    await ctx.tpdequeue('GOLDEN', queue, null, null, 0);
    await ctx.tpabort();
  }
}

/** What administrators do to messages and prepared branches. */
async function administer(): Promise<void> {
  const clock = new SystemClock();
  const pages = new PageCache(1);
  const log = { dir: space, clock, ulog: SILENT, io: nodeFileIo, pages, segmentBytes: SEGMENT_BYTES };
  const ports = { clock, ulog: SILENT, soon: setImmediate, runCommand: (): void => {} };
  const engine = await openSpace(await openLocalLog(log), new AbortController().signal, ports);
  const change = async (qname: string, what: MessageChange): Promise<void> => {
    const queue = engine.space.queue(qname) as Queue;
    const order = { queue, criteria: EVERYTHING, change: what };
    await new Promise((resolve) => changeMessages(engine, { ...order, done: resolve }));
  };
  await change('STRING', { kind: 'values', values: { priority: 60, expiry: 'none' } });
  const message = { properties: properties({}), terms: null, data: Buffer.from('moved by an administrator') };
  engine.enqueue({ qname: 'CHURN', ...message, work: null });
  await change('CHURN', { kind: 'move', to: engine.space.queue('SHORT') as Queue });
  const work = engine.openWork();
  engine.enqueue({ qname: 'CHURN', ...message, work });
  engine.prepared.promise(work);
  engine.prepared.prepare(work, { transaction: { start: 1, serial: 1 }, tlog: '0123456789abcdef'.repeat(2) });
  engine.prepared.decideHeuristically(work.branch, false);
  await consumers(engine);
  await engine.close();
}

/** A queue of the AQ dialect with two consumers: a message that one of them has had and is kept for, and the other has not. */
async function consumers(engine: SpaceEngine): Promise<void> {
  const value = { ...PLAIN_TABLE, multipleConsumers: true };
  engine.define({ kind: 'defineObject', type: OBJECT.TABLE, name: 'TAB', value });
  const aq = {
    table: 'TAB',
    type: AQ_TYPE.NORMAL,
    retentionS: RETENTION_INFINITE,
    comment: '',
    consumer: null,
  };
  const define = (name: string, over: Partial<AqAttributes>): void => {
    const attributes = { ...QUEUE_DEFAULTS, name, order: 'fifo', aq: { ...aq, ...over } };
    engine.define({ kind: 'defineQueue', attributes });
  };
  define('AQ$_TAB_E', { type: AQ_TYPE.EXCEPTION, retentionS: 0 });
  define('TABQ', {});
  const queue = engine.space.queue('TABQ') as Queue;
  for (const name of ['ONE', 'TWO']) {
    const consumer = { ...PLAIN_CONSUMER, name, of: queue.number };
    define(`TABQ:${name}`, { consumer });
  }
  const recipients = [...(queue.lanes ?? new Map<string, Queue>()).values()];
  engine.aqEnqueue({
    queue,
    recipients,
    properties: { ...properties({ type: 'CARRAY' }), aq: { enqueuedMs: 1_000_000_000_000 } },
    delayS: 0,
    expirationS: -1,
    deviation: null,
    persistent: true,
    data: Buffer.from('of two consumers'),
    work: null,
  });
  const take = new AqTake(queue, recipients[0] ?? queue, {});
  engine.aqDequeue(take);
  while (take.answer === null) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
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

/** A transaction over one queue space, and one over two: prepared and decided. */
async function overBoth(ctx: Context): Promise<void> {
  await ctx.tpbegin(30);
  await put(ctx, 'SHORT', 'taken over both', {});
  await ctx.tpcommit();
  await ctx.tpbegin(30);
  await ctx.tpdequeue('GOLDEN', 'SHORT', null, null, 0);
  await put(ctx, 'LATE', 'put over both', {});
  await ctx.tpenqueue('OTHER', 'THERE', null, 'there', 0);
  await ctx.tpcommit();
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

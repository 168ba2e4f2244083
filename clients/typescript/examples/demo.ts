// `npm run demo`: the main job, end to end, with real processes. A daemon on ubbconfig.example, a server for the service STRING, and this
// process, which queues requests, kills the daemon while requests and replies are queued, starts it again, and fetches every reply by its
// corrid. The last line is computed from a ledger of what was acknowledged; exit code 1 when a reply is lost or wrong. It leaves no process
// and no file behind. TMQUEUE_DEMO_LOSE=1 takes one reply away, to show that the ledger notices.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { type Context, tpinit, TPFLAG, TPQ, TPQCTL } from '../index.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const QSPACE = 'QSPACE';
const BEFORE_KILL = 200;
const AFTER_RESTART = 60;
/** No single step may take longer than this. */
const STEP_MS = 20_000;

interface Request {
  readonly text: string;
  reply: string | null;
}

/** Corrid → what was acknowledged. */
const ledger = new Map<string, Request>();
const children: ChildProcess[] = [];
const folder = mkdtempSync(join(tmpdir(), 'tmqueue-demo-'));
const daemonLog = openSync(join(folder, 'daemon.log'), 'a');
let failure = '';

try {
  await run();
} catch (error) {
  failure = error instanceof Error ? error.message : String(error);
  say(`failed: ${failure}`);
  process.stderr.write(readFileSync(join(folder, 'daemon.log')));
} finally {
  // The server first: it says goodbye to a daemon that is still there.
  for (const child of children.toReversed()) await end(child);
  rmSync(folder, { recursive: true, force: true });
}
const replied = [...ledger.values()].filter((request) => request.reply === request.text.toUpperCase()).length;
const lost = ledger.size - replied;
say(`${ledger.size} requests, ${replied} replies, ${lost} lost`);
process.exitCode = lost === 0 && failure === '' && ledger.size > 0 ? 0 : 1;

async function run(): Promise<void> {
  say(`data in ${folder}`);
  let daemon = await startDaemon('127.0.0.1:0');
  say(`daemon ready on ${daemon.address} (pid ${daemon.child.pid})`);
  startServer(daemon.address);
  const ctx = await tpinit({ address: daemon.address, cltname: 'demo' });

  await send(ctx, BEFORE_KILL);
  say(`${BEFORE_KILL} requests are queued on STRING, each with a corrid and the reply queue RPLYQ`);
  const depth = await untilBothQueued(ctx);
  daemon.child.kill('SIGKILL');
  await once(daemon.child, 'exit');
  say(`daemon killed (SIGKILL) with ${depth.requests} requests and ${depth.replies} replies queued`);

  daemon = await startDaemon(daemon.address);
  say(
    `daemon started again on the same data (pid ${daemon.child.pid}); client and server reconnect by themselves`,
  );
  await send(ctx, AFTER_RESTART);
  say(`${AFTER_RESTART} more requests are queued`);
  if (process.env['TMQUEUE_DEMO_LOSE'] === '1') await loseOne(ctx);
  await fetchAll(ctx);
  await checkNothingLeft(ctx);
  await ctx.tpterm();
}

/** Queues requests, all of them under way at once; each is in the ledger when its enqueue was acknowledged. */
async function send(ctx: Context, count: number): Promise<void> {
  const first = ledger.size;
  await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const corrid = `demo ${first + i}`;
      const text = `hello number ${first + i}`;
      const ctl = new TPQCTL({ flags: TPQ.TPQCORRID | TPQ.TPQREPLYQ, corrid, replyqueue: 'RPLYQ' });
      await ctx.tpenqueue(QSPACE, 'STRING', ctl, text);
      ledger.set(corrid, { text, reply: null });
    }),
  );
}

/** Waits until there is something on both queues; that is when a kill hurts most. */
async function untilBothQueued(ctx: Context): Promise<{ requests: number; replies: number }> {
  const deadline = performance.now() + STEP_MS;
  while (performance.now() < deadline) {
    const { requests, replies } = await depths(ctx);
    if (requests > 0 && replies >= 5) return { requests, replies };
    if (requests === 0) throw new Error('every request was answered before the daemon could be killed');
  }
  throw new Error('no reply came: is the service STRING offered?');
}

async function depths(ctx: Context): Promise<{ requests: number; replies: number }> {
  const { spaces } = await ctx.stat(QSPACE);
  const of = (qname: string): number =>
    spaces[0]?.queues.find((queue) => queue.name === qname)?.messages ?? 0;
  return { requests: of('STRING'), replies: of('RPLYQ') };
}

async function depthOf(ctx: Context, qname: string): Promise<number> {
  const { spaces } = await ctx.stat(QSPACE);
  return spaces[0]?.queues.find((queue) => queue.name === qname)?.messages ?? 0;
}

/** Takes a reply that the ledger then misses: the first that comes. */
async function loseOne(ctx: Context): Promise<void> {
  await ctx.tpdequeue(QSPACE, 'RPLYQ', new TPQCTL({ flags: TPQ.TPQWAIT }), null, TPFLAG.TPNOTIME);
  say('one reply was taken away (TMQUEUE_DEMO_LOSE=1)');
}

/** Fetches every reply by its corrid, waiting for those that are still on their way. */
async function fetchAll(ctx: Context): Promise<void> {
  const missing: string[] = [];
  const over = new AbortController();
  const watching = abortWhenNothingIsLeft(ctx, over);
  await Promise.all(
    [...ledger].map(async ([corrid, request]) => {
      const ctl = new TPQCTL({ flags: TPQ.TPQGETBYCORRID | TPQ.TPQWAIT, corrid });
      const limits = { waitMs: STEP_MS, signal: over.signal };
      try {
        const { data } = await ctx.tpdequeue(QSPACE, 'RPLYQ', ctl, null, TPFLAG.TPNOTIME, limits);
        request.reply = String(data);
      } catch {
        missing.push(corrid);
      }
    }),
  );
  over.abort();
  await watching;
  say(`${ledger.size - missing.length} replies were fetched with TPQWAIT and TPQGETBYCORRID`);
  for (const corrid of missing) say(`no reply with corrid "${corrid}"`);
}

/** Once both queues are empty no further reply can come: who still waits, waits for one that was lost. */
async function abortWhenNothingIsLeft(ctx: Context, over: AbortController): Promise<void> {
  for (let empty = 0; empty < 2 && !over.signal.aborted;) {
    await pause(200);
    const { requests, replies } = await depths(ctx);
    empty = requests + replies === 0 ? empty + 1 : 0;
  }
  over.abort();
}

/** A message that is still there was delivered twice, or went to the error queue. */
async function checkNothingLeft(ctx: Context): Promise<void> {
  for (const qname of ['STRING', 'RPLYQ', 'ERRQ']) {
    const left = await depthOf(ctx, qname);
    if (left > 0) throw new Error(`${left} messages are left on ${qname}`);
  }
}

async function startDaemon(listen: string): Promise<{ child: ChildProcess; address: string }> {
  const command = [join(ROOT, 'dist/src/cli/tmqueue.js'), 'start', '-c', join(ROOT, 'ubbconfig.example')];
  const child = spawn(process.execPath, [...command, '--appdir', folder, '--listen', listen, '--json'], {
    stdio: ['ignore', 'pipe', daemonLog],
  });
  children.push(child);
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout as Readable }), 'line', {
      signal: AbortSignal.timeout(STEP_MS),
    }),
    once(child, 'exit').then(() => Promise.reject(new Error('the daemon did not start'))),
  ])) as [string];
  return { child, address: (JSON.parse(line) as { address: string }).address };
}

function startServer(address: string): void {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'string-server.js')], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, WSNADDR: address },
  });
  children.push(child);
  say(`a server offers the service STRING (pid ${child.pid})`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 6000);
  await exited;
  clearTimeout(timer);
}

function say(text: string): void {
  process.stdout.write(`demo: ${text}\n`);
}

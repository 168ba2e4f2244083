// kill -9 under a forwarder at work: each request is on its queue, or its reply is on the reply queue; never both, never neither, never
// twice [spec 4.2: dequeue, reply and commit are one transaction]. The service itself may be called again for a request.
import { expect, test } from 'vitest';
import { type Context, TPQ, TPQCTL } from '../../clients/typescript/index.ts';
import { Prng } from '../../src/base/prng.ts';
import { type DaemonSetup, poll, QSPACE, TestDaemon, within } from '../support/daemon.ts';
import { bodyOf } from '../support/ledger-body.ts';
import { readAll } from './contents.ts';
import { sdkCalls } from './sdk-calls.ts';

const KILLS = Number(process.env['TMQUEUE_FORWARD_KILLS'] ?? 4);
const SEED = Number(process.env['TMQUEUE_SEED'] ?? Date.now() % 1_000_000_000);
const QUEUES = ['UPPER', 'RPLYQ'];
const IDLE: DaemonSetup = { queues: QUEUES };
const FORWARDING: DaemonSetup = {
  queues: QUEUES,
  forwarders: ['-q UPPER -i 1 -t 20', '-q UPPER -i 1 -t 20'],
};
/** More than a life can forward. */
const REQUESTS = 400;

/** Puts what is missing to REQUESTS on the queue; all are acknowledged. */
async function putRequests(context: Context, keys: readonly string[]): Promise<void> {
  await Promise.all(
    keys.map((key) => {
      const ctl = new TPQCTL({ flags: TPQ.TPQREPLYQ, replyqueue: 'RPLYQ' });
      return context.tpenqueue(QSPACE, 'UPPER', ctl, bodyOf(key));
    }),
  );
}

/** A life with two forwarders and a server, ended by a kill after some replies and a random while. */
async function forwardAndKill(daemon: TestDaemon, prng: Prng): Promise<void> {
  daemon.configure(FORWARDING);
  await daemon.restart();
  const server = await daemon.connect();
  let called = 0;
  const serving = server.serve({
    UPPER: (call) => {
      called++;
      return call.data;
    },
  });
  const ended = serving.catch(() => {});
  const wanted = prng.between(1, 60);
  await poll(
    () => called >= wanted,
    () => `${wanted} calls of the service\n${daemon.stderr}`,
  );
  await daemon.kill();
  await server.tpterm();
  await within(ended, 5000, () => 'the server did not notice the end of the daemon');
}

/** Without forwarders: what lies on both queues. */
async function look(daemon: TestDaemon, keep: boolean): Promise<{ requests: string[]; replies: string[] }> {
  daemon.configure(IDLE);
  await daemon.restart();
  const context = await daemon.connect();
  const contents = await readAll(sdkCalls(context, { waitMs: 0 }), QUEUES, keep);
  await daemon.stop();
  return { requests: [...(contents.get('UPPER') ?? [])], replies: [...(contents.get('RPLYQ') ?? [])] };
}

test(`${KILLS} kills under a forwarder, seed ${SEED}`, { timeout: 30_000 + KILLS * 10_000 }, async () => {
  console.log(`forward-kill: ${KILLS} kills, seed ${SEED} (TMQUEUE_SEED=${SEED} repeats it)`);
  const prng = new Prng(SEED);
  const daemon = await TestDaemon.start(IDLE);
  const keys = Array.from({ length: REQUESTS }, (_, i) => `request/${i}/${prng.between(20, 3000)}`);
  await putRequests(await daemon.connect(), keys);
  await daemon.kill();
  let before = 0;
  for (let round = 0; round < KILLS; round++) {
    await forwardAndKill(daemon, prng);
    const { requests, replies } = await look(daemon, true);
    expect([...requests, ...replies].sort(), `seed ${SEED}, round ${round}\n${daemon.stderr}`).toEqual(
      [...keys].sort(),
    );
    expect(replies.length).toBeGreaterThanOrEqual(before);
    before = replies.length;
  }
  expect(before, 'something was forwarded').toBeGreaterThan(0);
});

// SIGTERM while fifty forwarded calls are at their service [DESIGN 3, 11]: the daemon ends with 0 within five seconds; what its service answered
// may be done, the rest is on its queue as if it had never been taken: no attempt is counted, so nothing is on the error queue although the
// queue has no retries; nothing is lost and nothing is there twice.
import { expect, test } from 'vitest';
import type { ServiceCall } from '../../clients/typescript/index.ts';
import { poll, QSPACE, TestDaemon } from '../support/daemon.ts';

const CALLS = 50;
const ANSWERED = 25;
const STOPS_WITHIN_MS = 5000;
const QUEUES = [{ name: 'S', retries: 0 }, 'R', 'E'];

async function drained(daemon: TestDaemon, name: string): Promise<string[]> {
  const queue = (await daemon.connect()).queue<string>(QSPACE, name);
  const all: string[] = [];
  for (let found = await queue.get(); found !== null; found = await queue.get()) all.push(found.data);
  return all;
}

test(
  'SIGTERM with 50 calls in progress: none lost, none doubled, none counted as an attempt',
  { timeout: 60_000 },
  async () => {
    const forwarders = Array.from({ length: CALLS }, () => '-q S -t 60');
    const daemon = await TestDaemon.start({ queues: QUEUES, errorQueue: 'E', forwarders });
    const server = await daemon.connect({ onError: () => undefined });
    const calls: { call: ServiceCall; answer: (text: string) => void }[] = [];
    const service = (call: ServiceCall): Promise<string> =>
      new Promise((answer) => {
        calls.push({ call, answer });
      });
    await server.tpadvertise('S', service, { concurrency: CALLS });
    const queue = (await daemon.connect()).queue(QSPACE, 'S');
    const texts = Array.from({ length: CALLS }, (_, i) => `message ${String(i).padStart(2, '0')}`);
    await Promise.all(texts.map((text) => queue.put(text, { replyTo: 'R' })));
    await poll(
      () => calls.length === CALLS,
      () => `${CALLS} calls; ${daemon.stderr}`,
    );
    const startedAt = performance.now();
    const ending = daemon.stop(STOPS_WITHIN_MS + 2000);
    const answered = calls.slice(0, ANSWERED).map(({ call, answer }) => {
      answer(call.text);
      return call.text;
    });
    expect(await ending, daemon.stderr).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedAt).toBeLessThan(STOPS_WITHIN_MS);
    daemon.configure({ queues: QUEUES, errorQueue: 'E' });
    await daemon.restart();
    const [left, replies, errors] = [
      await drained(daemon, 'S'),
      await drained(daemon, 'R'),
      await drained(daemon, 'E'),
    ];
    expect(errors).toEqual([]);
    expect([...left, ...replies].sort((a, b) => a.localeCompare(b))).toEqual(texts);
    expect(replies.filter((text) => !answered.includes(text))).toEqual([]);
    expect(replies.length).toBeGreaterThan(0);
  },
);

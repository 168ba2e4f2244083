// Heartbeats as proto/PROTOCOL.md tells them, with a client that was written from it: the daemon sends them into silence, a client that
// sends its own is kept, and one that says nothing for three of their times is cut off.
import { expect, it } from 'vitest';
import type { Frame } from './client.ts';
import { Peer } from './daemon.ts';
import { OP } from './numbers.ts';

const HEARTBEAT_MS = 250;
/** So many that a client which did not answer them would be gone. */
const PINGS = 5;
const isPushedPing = (frame: Frame): boolean => frame[0] === OP.PING;
const peer = Peer.forAll({ queues: ['STRING'], arguments: ['--heartbeat-ms', String(HEARTBEAT_MS)] });

it('keep a client that sends its own, and close one that says nothing', async () => {
  const [lively, silent] = await Promise.all([peer.join(), peer.join()]);
  expect(lively.welcome?.heartbeatMs).toBe(HEARTBEAT_MS);
  // A real client has a timer; here the daemon says nothing else, so that its PINGs can be the clock.
  lively.onPushed = (frame) => {
    expect(frame).toEqual([OP.PING, 0]);
    lively.send(OP.PING);
  };
  for (let i = 0; i < PINGS; i++) await lively.next(isPushedPing);
  await silent.ended;
  expect(silent.arrived.filter(isPushedPing).length).toBeGreaterThan(0);
  expect(silent.arrived.at(-1)).toEqual([OP.CLOSING, 0, expect.stringContaining(String(3 * HEARTBEAT_MS))]);
  await lively.ask(OP.PING);
});

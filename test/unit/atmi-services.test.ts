// The dispatcher's queue of requests that wait for a server: priorities, the tenth that goes by age [spec 6.5, PRIO], and one-way calls.
import { expect, it } from 'vitest';
import { OP, RVAL, TPERRNO, TPFLAG } from '../../proto/codes.ts';
import type { Reply, TypedData } from '../../proto/message.ts';
import { Client } from '../../src/atmi/client.ts';
import { ServiceRules } from '../../src/atmi/service-rules.ts';
import { Joins } from '../../src/atmi/joins.ts';
import { ServiceCall } from '../../src/atmi/service-call.ts';
import { Services } from '../../src/atmi/services.ts';
import { Transactions } from '../../src/atmi/transactions.ts';
import { ManualClock } from '../support/manual-clock.ts';

class Call extends ServiceCall {
  readonly service = 'S';
  readonly body: TypedData;
  readonly flags = TPFLAG.TPNOREPLY;
  readonly identity = { cltid: new Uint8Array(16), appkey: -1 };
  readonly deadlineMs: number = Infinity;
  override readonly priority: number | null;
  override readonly isOneWay: boolean;
  readonly heard: string[] = [];

  constructor(name: string, priority: number | null, over: { isOneWay?: boolean; deadlineMs?: number } = {}) {
    super();
    this.body = { type: name, subtype: '', data: null };
    this.priority = priority;
    this.isOneWay = over.isOneWay ?? false;
    this.deadlineMs = over.deadlineMs ?? Infinity;
  }
  answered(): void {
    this.heard.push('answered');
  }
  override sent(): void {
    this.heard.push('sent');
  }
  failed(failure: number): void {
    this.heard.push(`failed ${failure}`);
  }
}

/** A server of S with room for one request; it answers on demand. */
function oneServer(priority?: number): {
  services: Services;
  clock: ManualClock;
  got: string[];
  frames: Reply[];
  answer: () => void;
  client: Client;
} {
  const frames: Reply[] = [];
  const got: string[] = [];
  const port = {
    send: (reply: Reply): void => {
      frames.push(reply);
      if (reply.op === OP.REQUEST) got.push(reply.body.type);
    },
  };
  const client = new Client({ cltid: new Uint8Array(16), appkey: -1 } as Client['identity'], port);
  const clock = new ManualClock();
  const values = {
    group: undefined,
    load: 50,
    blockTimeS: 0,
    bufferTypes: 'ALL',
    autotran: false,
    tranTimeS: 30,
  };
  const rules = priority === undefined ? [] : [{ name: 'S', prio: priority, ...values }];
  const services = new Services({
    clock,
    messageBytesMax: 1000,
    joins: new Joins(new Transactions(clock, { maxGtt: 10, maxTranTimeS: 0 })),
    rules: new ServiceRules(rules),
  });
  services.advertise(client, 'S', 1);
  const answer = (): void => {
    const id = frames.at(-1)?.id ?? 0;
    const body = { type: '', subtype: '', data: null };
    services.returned(client, { op: OP.RETURN, id, rval: RVAL.TPSUCCESS, rcode: 0, body });
  };
  return { services, clock, got, frames, answer, client };
}

it.each([
  [undefined, ['first', '70', '50', 'none', '30']],
  [80, ['first', 'none', '70', '50', '30']],
  [40, ['first', '70', '50', 'none', '30']],
])('with PRIO %s the highest priority goes first, of equals the one that waits longest', (prio, expected) => {
  const { services, got, answer } = oneServer(prio);
  for (const [name, priority] of [
    ['first', 1],
    ['30', 30],
    ['50', 50],
    ['none', null],
    ['70', 70],
  ] as const) {
    services.call(new Call(name, priority));
  }
  for (let i = 0; i < 4; i++) answer();
  expect(got).toEqual(expected);
});

it('every tenth request that waited is the one that waits longest, whatever its priority', () => {
  const { services, got, answer } = oneServer();
  services.call(new Call('first', 50));
  services.call(new Call('low', 1));
  for (let i = 0; i < 30; i++) services.call(new Call('high', 90));
  for (let i = 0; i < 30; i++) answer();
  expect(got.indexOf('low')).toBe(10);
});

it('a caller that goes on at once behind an answer comes after those that wait', () => {
  const { services, got, answer } = oneServer();
  const first = new (class extends Call {
    override answered(): void {
      services.call(new Call('again', null));
    }
  })('first', null);
  services.call(first);
  services.call(new Call('waits', null));
  for (let i = 0; i < 3; i++) answer();
  expect(got).toEqual(['first', 'waits', 'again']);
});

it('a one-way call ends when a server has it; the answer and the end of the server are nothing to it', () => {
  const { services, got, frames, answer, client } = oneServer();
  const [first, second] = [new Call('a', null, { isOneWay: true }), new Call('b', null, { isOneWay: true })];
  services.call(first);
  services.call(second);
  expect([first.heard, second.heard]).toEqual([['sent'], []]);
  expect(frames[0]).toMatchObject({ flags: TPFLAG.TPNOREPLY, timeoutMs: 0 });
  answer();
  services.clientGone(client);
  expect([got, first.heard, second.heard]).toEqual([['a', 'b'], ['sent'], ['sent']]);
});

it('a one-way call that no server takes in time fails with TPETIME', () => {
  const { services, clock } = oneServer();
  services.call(new Call('a', null));
  const call = new Call('b', null, { isOneWay: true, deadlineMs: clock.monoMs() + 100 });
  services.call(call);
  clock.advance(101);
  expect(call.heard).toEqual([`failed ${TPERRNO.TPETIME}`]);
});

// The clients of a run: each kind works on the queues of one space until it is told that it is enough. What they do is drawn from their own
// stream of chance. It must not know faults: a client takes refusals as they come and goes on.
import {
  type Context,
  QME,
  ServiceFailure,
  TPERRNO,
  TPFLAG,
  TPQ,
  TPQQOS,
} from '../../clients/typescript/index.ts';
import { bodyOf, keyOf } from '../support/ledger-body.ts';
import { Client, type ClientPorts, plainTraits } from './client.ts';
import { type Message, type Place, placeName, type Unit } from './ledger.ts';
import { pick, QUEUE, type SpaceScenario, SPACES } from './scenario.ts';

/** One client's work, until `isOver`. */
export type Work = (client: Client, space: SpaceScenario, isOver: () => boolean) => Promise<void>;

const THINK_MS = 150;
const LATE_MS = 2500;

export const WORKLOADS: Readonly<Record<string, Work>> = {
  ordered: repeat(putOrdered),
  orderedTaker: repeat(takeOrdered),
  mixed: repeat(useMixed),
  mover: repeat(moveInTransaction),
  taker: repeat(takeInTransaction),
  requester: repeat(request),
  replies: repeat(takeReplies),
  caller: repeat(callService),
  admin: repeat(administer),
};

/** Offers the services, for as long as the run goes. */
export async function serve(client: Client, signal: AbortSignal): Promise<void> {
  const context = await client.join();
  while (!signal.aborted) {
    // It ends by itself only when the service could not be offered at first.
    const end = await client.serving(() =>
      context.serve(
        { [QUEUE.SERVICE]: (call) => answer(client, call.data) },
        { signal, concurrency: 4, onError: () => {} },
      ),
    );
    if (!end.ok) client.note(`serve: ${end.error.message}`);
  }
  await client.leave();
}

function repeat(step: (client: Client, context: Context, space: SpaceScenario) => Promise<void>): Work {
  return async (client, space, isOver) => {
    const context = await client.join();
    while (!isOver()) {
      await step(client, context, space);
      await client.think(THINK_MS);
    }
    await client.leave();
  };
}

function at(space: SpaceScenario, queue: string): Place {
  return { space: space.name, queue };
}

async function putOrdered(client: Client, context: Context, space: SpaceScenario): Promise<void> {
  const place = at(space, QUEUE.ORDERED);
  // Several at a time: among these no order is promised.
  const puts = Array.from({ length: client.prng.oneIn(4) ? 4 : 1 }, () => {
    const priority = client.prng.between(1, 3) * 10;
    const ctl = { flags: TPQ.TPQPRIORITY, priority };
    return client.put(context, { place, unit: null, ctl, traits: { priority } });
  });
  await Promise.all(puts);
}

async function takeOrdered(client: Client, context: Context, space: SpaceScenario): Promise<void> {
  const place = at(space, QUEUE.ORDERED);
  const waits = client.prng.oneIn(3) ? { waitMs: client.prng.between(1, 2000) } : {};
  const takes = Array.from({ length: client.prng.oneIn(5) ? 3 : 1 }, () =>
    client.take(context, { place, unit: null, ...waits }),
  );
  await Promise.all(takes);
}

/** Messages that are non-persistent, delayed, expire, or go to the top; and dequeues that look, or choose. */
async function useMixed(client: Client, context: Context, space: SpaceScenario): Promise<void> {
  const { prng } = client;
  const place = at(space, QUEUE.MIXED);
  if (prng.oneIn(2)) {
    await putMixed(client, context, place);
    return;
  }
  if (prng.oneIn(4)) {
    await client.take(context, { place, unit: null, ctl: { flags: TPQ.TPQPEEK } });
    return;
  }
  const known = [...client.ledger.messages.values()].filter(
    (message) => message.msgid !== null && placeName(message.place) === placeName(place),
  );
  const wanted = known[prng.below(Math.max(1, known.length))];
  const way = wanted === undefined ? 0 : prng.below(4);
  if (wanted === undefined || way < 2) await client.take(context, { place, unit: null });
  else if (way === 2) {
    await client.take(context, { place, unit: null, ctl: { flags: TPQ.TPQGETBYMSGID, msgid: wanted.msgid } });
  } else {
    const ctl = { flags: TPQ.TPQGETBYCORRID, corrid: corridOf(wanted.askedTick) };
    await client.take(context, { place, unit: null, ctl });
  }
}

async function putMixed(client: Client, context: Context, place: Place): Promise<void> {
  const { prng, ledger } = client;
  let flags: number = TPQ.TPQCORRID;
  const isPersistent = !prng.oneIn(3);
  if (!isPersistent) flags |= TPQ.TPQDELIVERYQOS;
  const expires = prng.oneIn(5);
  if (expires) flags |= TPQ.TPQEXPTIME_REL;
  const isPlaced = prng.oneIn(4);
  if (isPlaced) flags |= prng.oneIn(2) ? TPQ.TPQTOP : TPQ.TPQTIME_REL;
  const ctl = {
    flags,
    corrid: corridOf(ledger.now + 1),
    delivery_qos: TPQQOS.TPQQOSNONPERSISTENT,
    exp_time: prng.between(1, 5),
    deq_time: prng.between(1, 3),
  };
  await client.put(context, { place, unit: null, ctl, traits: { isPersistent, expires, isPlaced } });
}

/** A few corrids, so that several messages have the same. */
function corridOf(tick: number): string {
  return `corrid ${tick % 5}`;
}

/** A transaction that takes from one queue and puts on others; sometimes too slow, or rolled back, or over two queue spaces. */
async function moveInTransaction(client: Client, context: Context, space: SpaceScenario): Promise<void> {
  const { prng } = client;
  await inTransaction(client, context, async (unit) => {
    const from = at(space, prng.oneIn(2) ? QUEUE.WORK : QUEUE.LEFT);
    const puts = [QUEUE.WORK, QUEUE.LEFT, QUEUE.FEW].filter(() => !prng.oneIn(3));
    const steps = puts.map((queue) => () => client.put(context, { place: at(space, queue), unit }));
    if (prng.oneIn(3)) await Promise.all(steps.map((step) => step()));
    else for (const step of steps) await step();
    if (prng.oneIn(2)) await client.take(context, { place: from, unit });
    if (prng.oneIn(4)) await tryOtherSpace(client, context, { unit, space });
  });
}

/** The other queue space in the same transaction: refused with QMERELEASE while the daemon cannot. */
async function tryOtherSpace(
  client: Client,
  context: Context,
  { unit, space }: { unit: Unit; space: SpaceScenario },
): Promise<void> {
  const other = SPACES.find((name) => name !== space.name) ?? SPACES[0];
  const place = { space: other, queue: QUEUE.LEFT };
  if (client.ports.scenario.capabilities.twoPhaseCommit) {
    await client.put(context, { place, unit });
    if (client.prng.oneIn(2)) await client.take(context, { place, unit });
    return;
  }
  const hadWork = unit.takes.length > 0 || unit.puts.some((message) => message.put === 'there');
  const message = await client.put(context, { place, unit });
  if (hadWork && message.put === 'there') {
    client.ports.violation(`${message.key}: one transaction worked in two queue spaces`);
  }
}

async function takeInTransaction(client: Client, context: Context, space: SpaceScenario): Promise<void> {
  const { prng } = client;
  const place = at(space, pick(prng, [QUEUE.FEW, QUEUE.FEW, QUEUE.FEW, QUEUE.WORK, QUEUE.LEFT, QUEUE.ERROR]));
  await inTransaction(client, context, async (unit) => {
    for (let left = prng.between(1, 3); left > 0; left--) {
      const waits = prng.oneIn(4) ? { waitMs: prng.between(1, 1500) } : {};
      const { message } = await client.take(context, { place, unit, ...waits });
      if (message === null) return;
    }
  });
}

async function inTransaction(
  client: Client,
  context: Context,
  work: (unit: Unit) => Promise<void>,
): Promise<void> {
  const { prng, ledger } = client;
  const timeoutS = prng.oneIn(4) ? 1 : 20;
  const begun = await client.call(`begin ${timeoutS}`, () => context.tpbegin(timeoutS));
  if (!begun.ok) return;
  const unit = ledger.begin();
  await work(unit);
  if (prng.oneIn(6)) await client.think(1500);
  if (prng.oneIn(2)) {
    // Whatever becomes of the request: what nobody asked to commit is rolled back.
    await client.call('abort', () => context.tpabort());
    ledger.ending(unit, 'rolled back');
    return;
  }
  unit.commitTick = ledger.tick();
  const end = await client.call('commit', () => context.tpcommit());
  ledger.ending(unit, end.ok ? 'committed' : end.error.outcomeUnknown ? 'unknown' : 'rolled back');
}

/** Puts what a forwarder will hand to the service, and whose answer goes to the reply queue. */
async function request(client: Client, context: Context, space: SpaceScenario): Promise<void> {
  const place = at(space, QUEUE.SERVICE);
  const reply = at(space, QUEUE.REPLY);
  const ctl = {
    flags: TPQ.TPQREPLYQ | TPQ.TPQFAILUREQ,
    replyqueue: QUEUE.REPLY,
    failurequeue: QUEUE.FAIL,
  };
  const { places } = plainTraits(place);
  await client.put(context, { place, unit: null, ctl, traits: { places: [...places, reply] } });
  await client.think(300);
}

async function takeReplies(client: Client, context: Context, space: SpaceScenario): Promise<void> {
  const waits = client.prng.oneIn(2) ? { waitMs: 2000 } : {};
  await client.take(context, { place: at(space, QUEUE.REPLY), unit: null, ...waits });
  await client.think(100);
}

/** The service: answers with what it got, late now and then; fails, with and without data; or never answers in time. */
async function answer(client: Client, data: unknown): Promise<unknown> {
  const { prng } = client;
  const key = keyOf(data);
  const message = key.startsWith('call-') ? null : serving(client, key);
  client.note(`serves ${key}`);
  if (prng.oneIn(3)) await client.think(prng.oneIn(4) ? LATE_MS : 200);
  switch (prng.below(8)) {
    case 0:
      throw new Error('the service failed');
    case 1:
      if (message === null) throw new ServiceFailure(7, 'why');
      return failWithData(message);
    default:
      return data;
  }
}

function serving(client: Client, key: string): Message | null {
  const message = client.ledger.messages.get(key);
  return client.ledger.serving(key, message === undefined ? QUEUE.SERVICE : placeName(message.place));
}

/** The failure's data names the message, so that it can be told from the message itself. */
function failWithData(message: Message): never {
  message.failedWithData++;
  throw new ServiceFailure(7, Buffer.from(`F:${message.key}`));
}

/** A call of the service without a queue between. */
async function callService(client: Client, context: Context): Promise<void> {
  const { prng } = client;
  const body = bodyOf(`call-${client.name}/${client.ledger.tick()}/60`);
  const end = await client.call('tpcall', () =>
    context.tpcall(QUEUE.SERVICE, body, TPFLAG.TPNOTRAN, { timeoutMs: 3000 }),
  );
  if (end.ok && (!(end.value.data instanceof Uint8Array) || !body.equals(end.value.data))) {
    client.ports.violation(`${client.name}: the service was asked one thing and answered another`);
  }
  await client.think(prng.oneIn(2) ? 1000 : 50);
}

/** Everything that an administrator may do to a queue, on one that nobody else needs. */
async function administer(client: Client, context: Context, space: SpaceScenario): Promise<void> {
  const { prng, ledger } = client;
  const place = at(space, QUEUE.SCRATCH);
  const admin = context.admin(space.name);
  const clears = async (what: string, make: () => Promise<unknown>): Promise<void> => {
    const clearing = { queue: placeName(place), fromTick: ledger.tick(), toTick: Infinity };
    ledger.clearings.push(clearing);
    const end = await client.call(what, make);
    if (end.ok || !end.error.outcomeUnknown) clearing.toTick = ledger.tick();
  };
  switch (prng.below(8)) {
    case 0:
      return clears('purge', () => admin.purge(QUEUE.SCRATCH));
    case 1:
      await clears('destroy', () => admin.destroy(QUEUE.SCRATCH, { purge: true }));
      for (;;) {
        const made = await client.call('create', () => admin.create(QUEUE.SCRATCH, { retries: 1000 }));
        if (made.ok || made.error.tperrno === TPERRNO.TPEMATCH) return undefined;
        await client.think(200);
      }
    case 2: {
      await client.call('pause', () => admin.pause(QUEUE.SCRATCH));
      await client.put(context, { place, unit: null });
      for (;;) {
        const resumed = await client.call('resume', () => admin.resume(QUEUE.SCRATCH));
        if (resumed.ok || resumed.error.diagnostic === QME.QMEBADQUEUE) return undefined;
        await client.think(200);
      }
    }
    case 3:
      await client.call('list', () => admin.list());
      await client.call('stat', () => context.stat());
      return undefined;
    case 4:
      await client.take(context, { place, unit: null, ...(prng.oneIn(2) ? { waitMs: 500 } : {}) });
      return undefined;
    default:
      await client.put(context, { place, unit: null });
      return undefined;
  }
}

/** The clients of a run: in each space `width` of every kind. */
export function makeClients(ports: ClientPorts): { client: Client; work: Work; space: SpaceScenario }[] {
  const { scenario } = ports;
  return scenario.spaces.flatMap((space) =>
    Object.entries(WORKLOADS).flatMap(([kind, work]) =>
      Array.from({ length: kind === 'admin' ? 1 : scenario.width }, (_, i) => {
        const client = new Client(`${space.name[0] ?? ''}-${kind}${i}`, ports);
        return { client, work, space };
      }),
    ),
  );
}

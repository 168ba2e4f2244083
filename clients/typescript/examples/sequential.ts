// An order that goes through three services, each with a queue of its own: RESERVE, CHARGE, SHIP. Every step puts the message for the next one
// in its own transaction, so that the next step begins only when this one is done for good, and a step that fails is tried again alone.
// Whoever ordered follows the progress on a reply queue. `node sequential.js [item]` is server and customer in one.
import { type ServiceCall, tpinit } from '../index.ts';

interface Order {
  readonly number: string;
  readonly item: string;
}

const item = process.argv[2] ?? 'tea';
const ctx = await tpinit({ cltname: 'sequential' });

/** How every message of an order is queued: the service's empty answer then goes to PROGRESS, where the corrid says whose it is. */
const options = (order: Order): { corrid: string; replyTo: string } => ({
  corrid: order.number,
  replyTo: 'PROGRESS',
});

/** A step: `request` is in the transaction of TMQFORWARD, which took the message and will put the answer. */
async function step(request: ServiceCall, next: string | null): Promise<void> {
  const order = request.data as Order;
  say(`${request.service}: ${order.item}`);
  if (next !== null) await request.queue<Order>('QSPACE', next).put(order, options(order));
}

const stop = new AbortController();
const serving = ctx.serve(
  {
    RESERVE: (request) => step(request, 'CHARGE'),
    CHARGE: (request) => step(request, 'SHIP'),
    SHIP: (request) => step(request, null),
  },
  { signal: stop.signal },
);

const order: Order = { number: `order ${process.pid}`, item };
await ctx.queue<Order>('QSPACE', 'RESERVE').put(order, options(order));
// Three steps, three answers without data: their arrival is what they say.
const progress = ctx.queue('QSPACE', 'PROGRESS');
for (let done = 0; done < 3; done++) {
  const answer = await progress.get({ corrid: order.number, wait: 30_000 });
  if (answer === null) throw new Error(`no progress after ${done} of 3 steps; look at the queue ERRQ`);
  say(`${order.number}: ${done + 1} of 3 steps are done`);
}
stop.abort();
await serving;
await ctx.tpterm();

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

// Two programs that talk through queues, without a server between them: each reads the queue that has its own name and writes on the other's.
// Neither needs the other to be there. `node peer-to-peer.js ALICE BOB` in one terminal, `node peer-to-peer.js BOB ALICE` in another; what is
// typed goes to the other side, and the end of the input (Ctrl-D) says goodbye.
import { createInterface } from 'node:readline';
import { tpinit } from '../index.ts';

interface Line {
  readonly text: string;
  readonly goodbye: boolean;
}

const [me = '', other = ''] = process.argv.slice(2);
if (me === '' || other === '') {
  process.stderr.write('usage: node peer-to-peer.js MY-QUEUE OTHER-QUEUE\n');
  process.exit(64);
}
const ctx = await tpinit({ cltname: 'peer' });
const done = new AbortController();

async function listen(): Promise<void> {
  // A line is taken in a transaction, which is committed when it has been printed: one that a program took before it died comes again.
  await ctx.queue<Line>('QSPACE', me).consume(
    ({ data: { text, goodbye } }) => {
      process.stdout.write(goodbye ? `${other} has gone\n` : `${other}: ${text}\n`);
      if (goodbye) done.abort();
    },
    { signal: done.signal },
  );
}

async function talk(): Promise<void> {
  const queue = ctx.queue<Line>('QSPACE', other);
  for await (const text of createInterface({ input: process.stdin }))
    await queue.put({ text, goodbye: false });
  await queue.put({ text: '', goodbye: true });
}

// Whoever has said goodbye still listens, until the other does.
await Promise.all([listen(), talk()]);
await ctx.tpterm();

// A client: queues a text for the service STRING with a reply queue, and waits for the answer. `node client.js [text]`; the daemon is found
// by WSNADDR, else at //127.0.0.1:7110. The same twice: in the words of C, then in those of TypeScript.
import { TpError, TPFLAG, tpinit, TPQ, TPQCTL } from '../index.ts';

const text = process.argv[2] ?? 'hello';
const ctx = await tpinit({ cltname: 'client' });
try {
  const ctl = new TPQCTL({
    flags: TPQ.TPQREPLYQ | TPQ.TPQCORRID,
    replyqueue: 'RPLYQ',
    corrid: `c ${process.pid}`,
  });
  await ctx.tpenqueue('QSPACE', 'STRING', ctl, text);
  ctl.flags = TPQ.TPQGETBYCORRID | TPQ.TPQWAIT;
  const reply = await ctx.tpdequeue('QSPACE', 'RPLYQ', ctl, null, TPFLAG.TPNOTIME);
  say(`${text} → ${String(reply.data)}`);

  const corrid = `ts ${process.pid}`;
  await ctx.queue<string>('QSPACE', 'STRING').put(text, { corrid, replyTo: 'RPLYQ' });
  const message = await ctx.queue<string>('QSPACE', 'RPLYQ').get({ corrid, wait: 10_000 });
  say(message === null ? 'no answer within ten seconds' : `${text} → ${message.data}`);
} catch (error) {
  // The message begins with the codes, e.g. TPEDIAGNOSTIC/QMENOMSG.
  if (!TpError.is(error)) throw error;
  say(error.message);
  process.exitCode = 1;
} finally {
  await ctx.tpterm();
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

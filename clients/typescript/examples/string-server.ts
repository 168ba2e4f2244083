// An application server: offers the service STRING, which answers a text in upper case, until Ctrl-C. The daemon is found by WSNADDR, else
// at //127.0.0.1:7110; when it goes away, the server comes back by itself.
import { tpinit } from '../index.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

const ctx = await tpinit({ cltname: 'string-server' }).catch((error: unknown) => {
  process.stderr.write(
    `string-server: ${error instanceof Error ? error.message : String(error)}; start the daemon first\n`,
  );
  process.exit(69);
});
process.stdout.write('STRING is offered; Ctrl-C ends\n');
await ctx.serve({ STRING: (request) => request.text.toUpperCase() }, { concurrency: 8, signal: stop.signal });
await ctx.tpterm();

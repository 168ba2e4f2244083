// `tmqueue stat`: what the daemon counts, as a table or as JSON.
import type { Statistics } from '../../clients/typescript/index.ts';
import { withContext, type ConnectOptions } from './connect.ts';
import { EXIT } from './exit.ts';
import { formatBytes, formatDuration } from './figures.ts';
import { formatTable } from './table.ts';
import { upText } from './top-view.ts';

export interface StatOptions extends ConnectOptions {
  readonly json?: boolean;
}

export async function stat(qspace: string | undefined, options: StatOptions): Promise<number> {
  return withContext(options, async (ctx) => {
    const found = await ctx.stat(qspace);
    process.stdout.write(options.json === true ? `${JSON.stringify(found)}\n` : format(found));
    return EXIT.OK;
  });
}

function format(found: Statistics): string {
  const { version, lmid, uptimeMs, connections, transactions } = found;
  const lines = [
    `tmqueue ${version} on ${lmid}, up ${formatDuration(uptimeMs)}, ${connections} connections, ${transactions} transactions`,
  ];
  for (const space of found.spaces) {
    const names = space.aliases.filter((alias) => alias !== space.name);
    const also = names.length === 0 ? '' : ` (served as ${space.aliases.join(', ')})`;
    lines.push(
      '',
      `${space.name}${also}: ${space.state}, ${space.messages} messages, ${formatBytes(space.bytes)}, ` +
        `log ${formatBytes(space.logBytes)}, room ${formatBytes(space.roomBytes)}`,
      ...formatTable([
        ['QUEUE', 'MESSAGES', 'READY', 'DELAYED', 'LOCKED', 'BYTES', 'WAITERS', 'IN', 'OUT'],
        ...space.queues.map((queue) => [
          queue.name,
          ...[queue.messages, queue.ready, queue.delayed, queue.locked, queue.bytes, queue.waiters].map(
            String,
          ),
          ...[queue.enqueued, queue.dequeued].map(String),
        ]),
      ]),
    );
  }
  if (found.services.length === 0) lines.push('', 'No server offers a service.');
  else {
    const rows = found.services.map((one) => [
      one.name,
      ...[one.servers, one.outstanding, one.completed, one.failed].map(String),
    ]);
    lines.push('', ...formatTable([['SERVICE', 'SERVERS', 'OUTSTANDING', 'DONE', 'FAILED'], ...rows]));
  }
  if (found.forwarders.length > 0) {
    const rows = found.forwarders.map((one) => [
      `${one.srvgrp}/${one.srvid}`,
      upText(one),
      one.queues.join(','),
      String(one.forwarded),
      String(one.failed),
    ]);
    lines.push('', ...formatTable([['FORWARDER', 'UP', 'QUEUES', 'DONE', 'FAILED'], ...rows]));
  }
  return `${lines.join('\n')}\n`;
}

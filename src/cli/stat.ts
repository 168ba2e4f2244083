// `tmqueue stat`: what the daemon counts, as a table or as JSON.
import type { Statistics } from '../../clients/typescript/index.ts';
import { withContext, type ConnectOptions } from './connect.ts';
import { EXIT } from './exit.ts';
import { formatTable } from './table.ts';

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
      one.queues.join(','),
      String(one.forwarded),
      String(one.failed),
    ]);
    lines.push('', ...formatTable([['FORWARDER', 'QUEUES', 'DONE', 'FAILED'], ...rows]));
  }
  return `${lines.join('\n')}\n`;
}

function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

function formatDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const parts = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
    seconds % 60,
  ];
  const text = ['d', 'h', 'm', 's'].map((unit, i) => `${parts[i] ?? 0}${unit}`);
  const from = parts.findIndex((part) => part > 0);
  return text.slice(from < 0 ? 3 : from).join(' ');
}

// What `tmqueue top` shows of a snapshot, as lines of a given width and height: the daemon, its spaces and forwarders, and as many queues as there is
// room for. Pure.
import { formatBytes, formatDuration } from './figures.ts';
import { sortedQueues, type QueueRates, type Snapshot, type SortKey } from './rates.ts';
import { formatTable } from './table.ts';

export interface ViewOptions {
  readonly sort: SortKey;
  /** Infinity: no limit. */
  readonly width: number;
  readonly height: number;
}

/** Beyond so many forwarders there is one line for all the others. */
const FORWARDERS_MAX = 8;

export function topLines(snapshot: Snapshot, { sort, width, height }: ViewOptions): string[] {
  const { version, lmid, uptimeMs, connections, transactions } = snapshot;
  const lines = [
    `tmqueue ${version} on ${lmid}, up ${formatDuration(uptimeMs)}, ${connections} connections, ${transactions} transactions`,
    '',
    ...spaceLines(snapshot),
    ...forwarderLines(snapshot),
    '',
  ];
  // The head, and a line for those that are left out.
  const room = Math.max(1, height - lines.length - 2);
  return [...lines, ...queueLines(sortedQueues(snapshot.queues, sort), room)]
    .slice(0, height)
    .map((line) => cut(line, width));
}

function spaceLines({ spaces }: Snapshot): string[] {
  return formatTable([
    ['SPACE', 'STATE', 'QUEUES', 'MESSAGES', 'BYTES', 'LOG', 'ROOM', 'WAITERS', 'IN/s', 'OUT/s', 'BATCHES/s'],
    ...spaces.map((space) => [
      space.name,
      space.state,
      String(space.queues),
      String(space.messages),
      ...[space.bytes, space.logBytes, space.roomBytes].map(formatBytes),
      String(space.waiters),
      ...[space.inPerS, space.outPerS, space.batchesPerS].map(perSecond),
    ]),
  ]);
}

function forwarderLines({ forwarders }: Snapshot): string[] {
  if (forwarders.length === 0) return [];
  const table = formatTable([
    ['FORWARDER', 'UP', 'DONE/s', 'FAILED/s', 'FAILED', 'QUEUES'],
    ...forwarders
      .slice(0, FORWARDERS_MAX)
      .map((one) => [
        `${one.srvgrp}/${one.srvid}`,
        upText(one),
        perSecond(one.donePerS),
        perSecond(one.failedPerS),
        String(one.failed),
        one.queues.join(','),
      ]),
  ]);
  const more = forwarders.length - FORWARDERS_MAX;
  return ['', ...table, ...(more > 0 ? [`… and ${more} more`] : [])];
}

function queueLines(queues: readonly QueueRates[], room: number): string[] {
  const shown = queues.slice(0, room);
  const table = formatTable([
    ['QUEUE', 'SPACE', 'MESSAGES', 'READY', 'DELAYED', 'LOCKED', 'BYTES', 'WAITERS', 'IN/s', 'OUT/s'],
    ...shown.map((queue) => [
      queue.name,
      queue.space,
      ...[queue.messages, queue.ready, queue.delayed, queue.locked].map(String),
      formatBytes(queue.bytes),
      String(queue.waiters),
      perSecond(queue.inPerS),
      perSecond(queue.outPerS),
    ]),
  ]);
  const more = queues.length - shown.length;
  return more > 0 ? [...table, `… and ${more} more`] : table;
}

/** How many of a server's forwarders run, of those that are to; `-`: an older daemon does not say. */
export function upText({ running, instances }: { running?: number; instances?: number }): string {
  return running === undefined || instances === undefined ? '-' : `${running}/${instances}`;
}

function perSecond(rate: number): string {
  return rate === 0 || rate >= 10 ? String(Math.round(rate)) : rate.toFixed(1);
}

function cut(line: string, width: number): string {
  if (line.length <= width) return line;
  const letters = Array.from(line);
  return letters.length <= width ? line : letters.slice(0, width).join('');
}

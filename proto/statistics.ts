// The map that STAT answers, checked member by member. Invariants: every member of message-statistics.ts's Statistics is there with its type; members
// that this version does not know are dropped, so that a newer daemon may add some. Must not know where the numbers come from.
import type {
  ForwarderStatistics,
  QueueStatistics,
  ServiceStatistics,
  SpaceStatistics,
  Statistics,
} from './message-statistics.ts';

type Raw = Record<string, unknown>;
/** Reads one value of a list; undefined: it is not one. */
type Reader<T> = (value: unknown) => T | undefined;

/** The statistics that `value` holds, or undefined when a member is missing or has another type. */
export function readStatistics(value: unknown): Statistics | undefined {
  if (!isRaw(value)) return undefined;
  const spaces = list(value['spaces'], space);
  const services = list(value['services'], service);
  const forwarders = list(value['forwarders'], forwarder);
  const { version, lmid, uptimeMs, connections, transactions } = value;
  if (spaces === undefined || services === undefined || forwarders === undefined) return undefined;
  if (!isText(version) || !isText(lmid)) return undefined;
  if (!isCount(uptimeMs) || !isCount(connections) || !isCount(transactions)) return undefined;
  return { version, lmid, uptimeMs, connections, transactions, spaces, services, forwarders };
}

function space(value: unknown): SpaceStatistics | undefined {
  if (!isRaw(value)) return undefined;
  const aliases = list(value['aliases'], text);
  const queues = list(value['queues'], queue);
  const { name, device, state, messages, bytes, logBytes, roomBytes, batches, records } = value;
  if (aliases === undefined || queues === undefined || !isText(name) || !isText(device)) return undefined;
  if (state !== 'open' && state !== 'failed' && state !== 'not open') return undefined;
  if (!isCount(messages) || !isCount(bytes) || !isCount(logBytes) || !isCount(roomBytes)) return undefined;
  if (!isCount(batches) || !isCount(records)) return undefined;
  return { name, aliases, device, state, messages, bytes, logBytes, roomBytes, batches, records, queues };
}

function queue(value: unknown): QueueStatistics | undefined {
  if (!isRaw(value)) return undefined;
  const { name, messages, ready, delayed, locked, bytes, waiters, enqueued, dequeued } = value;
  if (!isText(name) || !isCount(messages) || !isCount(ready) || !isCount(delayed)) return undefined;
  if (!isCount(locked) || !isCount(bytes) || !isCount(waiters)) return undefined;
  if (!isCount(enqueued) || !isCount(dequeued)) return undefined;
  return { name, messages, ready, delayed, locked, bytes, waiters, enqueued, dequeued };
}

function service(value: unknown): ServiceStatistics | undefined {
  if (!isRaw(value)) return undefined;
  const { name, servers, outstanding, completed, failed } = value;
  if (!isText(name) || !isCount(servers) || !isCount(outstanding)) return undefined;
  if (!isCount(completed) || !isCount(failed)) return undefined;
  return { name, servers, outstanding, completed, failed };
}

function forwarder(value: unknown): ForwarderStatistics | undefined {
  if (!isRaw(value)) return undefined;
  const queues = list(value['queues'], text);
  const { srvgrp, srvid, forwarded, failed } = value;
  if (queues === undefined || !isText(srvgrp)) return undefined;
  if (!isCount(srvid) || !isCount(forwarded) || !isCount(failed)) return undefined;
  const { running, instances } = value;
  const lives = isCount(running) && isCount(instances) ? { running, instances } : {};
  return { srvgrp, srvid, queues, forwarded, failed, ...lives };
}

function text(value: unknown): string | undefined {
  return isText(value) ? value : undefined;
}

function list<T>(value: unknown, read: Reader<T>): T[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const out: T[] = [];
  const items: unknown[] = value;
  for (const item of items) {
    const one = read(item);
    if (one === undefined) return undefined;
    out.push(one);
  }
  return out;
}

function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

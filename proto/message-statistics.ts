// What STAT answers, as types; statistics.ts checks one.

/** What STAT answers; the only part of the protocol that travels as maps, because it is read by people. */
export interface Statistics {
  version: string;
  lmid: string;
  uptimeMs: number;
  connections: number;
  transactions: number;
  spaces: SpaceStatistics[];
  services: ServiceStatistics[];
  forwarders: ForwarderStatistics[];
}
export interface SpaceStatistics {
  name: string;
  aliases: string[];
  device: string;
  /** 'open', or 'failed' after a log error. */
  state: 'open' | 'failed' | 'not open';
  messages: number;
  bytes: number;
  logBytes: number;
  roomBytes: number;
  batches: number;
  records: number;
  queues: QueueStatistics[];
}
export interface QueueStatistics {
  name: string;
  /** Messages on the queue: ready, delayed and locked; not those of open transactions. */
  messages: number;
  ready: number;
  delayed: number;
  locked: number;
  bytes: number;
  waiters: number;
  enqueued: number;
  dequeued: number;
}
export interface ServiceStatistics {
  name: string;
  servers: number;
  outstanding: number;
  completed: number;
  failed: number;
}
export interface ForwarderStatistics {
  srvgrp: string;
  srvid: number;
  queues: string[];
  forwarded: number;
  failed: number;
  /** How many of it run, and how many begin with the daemon (MIN). Absent: an older daemon. */
  running?: number;
  instances?: number;
}

// What qmadmin needs of a device and of a queue space on it. Behind the ports stands a device whose daemon is stopped (local/), later also
// a running daemon. A refusal is a RefusedError whose message is for the operator.
import type { RedriveInfo, RedriveItem, RedriveOptions } from '../../proto/redrive.ts';
import type { QueueAttributes, SpaceAttributes } from '../queue/attributes.ts';

/** What was asked for cannot be done; nothing has changed. The message says why and what would be right. */
export class RefusedError extends Error {
  override name = 'RefusedError';
}

/** An entry of the device list: so many pages of a file or slice, from this page on [spec 8.1]. */
export interface DeviceEntry {
  readonly device: string;
  readonly offset: number;
  readonly pages: number;
}

/** Pages of the device list that a space took when it was created. */
export interface Extent {
  readonly space: string;
  readonly pages: number;
}

export interface DeviceContents {
  readonly entries: readonly DeviceEntry[];
  readonly extents: readonly Extent[];
}

export interface DevicePort {
  /** The QMCONFIG device. */
  readonly path: string;
  /** How it is reached, for the greeting: `the daemon is stopped`. */
  readonly reached: string;
  contents(): Promise<DeviceContents>;
  addEntry(entry: DeviceEntry): Promise<void>;
  /** Names of the queue spaces on it, sorted. */
  spaces(): Promise<string[]>;
  createSpace(attributes: SpaceAttributes): Promise<void>;
  openSpace(name: string): Promise<SpacePort>;
}

export interface SpacePort {
  readonly name: string;
  /** Its log could not be written: only closing it is left. */
  readonly failed: boolean;
  attributes(): SpaceAttributes;
  /** In the order of their creation. */
  queues(): QueueView[];
  /** Creates a queue that does not exist, or changes one that does; durable when it resolves. */
  defineQueue(attributes: QueueAttributes): Promise<void>;
  /** Messages of this queue go back to where each came from; durable when it resolves. */
  redrive(qname: string, options: RedriveOptions): Promise<Redriven>;
  close(): Promise<void>;
}

/** What a redrive did, and what stayed for which reason; by queue, the largest number first. */
export interface Redriven extends RedriveInfo {
  readonly queues: readonly RedriveItem[];
}

/** A queue as administration sees it. */
export interface QueueView {
  readonly attributes: QueueAttributes;
  readonly persistentMessages: number;
  readonly pages: number;
  readonly nonPersistentMessages: number;
  readonly nonPersistentBytes: number;
}

export function freePages({ entries, extents }: DeviceContents): number {
  const have = entries.reduce((sum, { pages }) => sum + pages, 0);
  return extents.reduce((left, { pages }) => left - pages, have);
}

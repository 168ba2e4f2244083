// What qmadmin needs of a device and of a queue space on it. Behind the ports stands a device whose daemon is stopped (local/), later also
// a running daemon. A refusal is a RefusedError whose message is for the operator.
import type { RedriveInfo, RedriveItem, RedriveOptions } from '../../proto/redrive.ts';
import type { MessageView } from '../engine/message-list.ts';
import type { QueueAttributes, SpaceAttributes } from '../queue/attributes.ts';
import type { NewValues } from '../queue/command.ts';
import type { GivenCriteria } from '../queue/selection.ts';

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
  /** A page of the selected messages of a queue. */
  listMessages(order: ListOrder): Promise<MessagePage>;
  /** Changes the selected messages; durable when it resolves. Rejects when it ended early, saying how far it came. */
  changeMessages(order: ChangeOrder): Promise<ChangeCounts>;
  /** Those that have work in this space and have not ended; `decided`: also those that an administrator ended. */
  transactions(decided: boolean): Promise<TransactionView[]>;
  /** Ends a prepared transaction's part in this space, whatever the transaction comes to; durable when it resolves. */
  endTransaction(index: number, committed: boolean): Promise<void>;
}

export type { GivenCriteria as MessageCriteria } from '../queue/selection.ts';

export interface ListOrder {
  readonly queue: string;
  readonly criteria: GivenCriteria;
  /** null: from the beginning; else what the page before gave. */
  readonly cursor: string | null;
  /** Messages at most. */
  readonly limit: number;
  /** Bytes of the data of each message that are wanted. */
  readonly dataBytes: number;
}

export interface MessagePage {
  readonly messages: readonly MessageView[];
  /** null: there is nothing behind it. */
  readonly cursor: string | null;
}

export interface ChangeOrder {
  readonly queue: string;
  readonly criteria: GivenCriteria;
  readonly change:
    | { readonly kind: 'delete' }
    | { readonly kind: 'values'; readonly values: NewValues }
    | { readonly kind: 'move'; readonly to: string };
}

export interface ChangeCounts {
  readonly changed: number;
  /** Left because transactions hold them. */
  readonly held: number;
}

export interface TransactionView {
  /** By which it is ended; null: it has been, by an administrator. */
  readonly index: number | null;
  readonly id: string;
  /** [spec 7.4] */
  readonly state: 'ACTIVE' | 'READY' | 'DECIDED' | 'HCOMMIT' | 'HABORT';
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

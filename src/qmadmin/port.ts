// What qmadmin needs of a device and of a queue space on it. Behind the ports stand a device that nobody holds (local/) and a running daemon
// (remote/); reachable-device.ts finds out which. A refusal is a RefusedError whose message is for the operator.
import type { RedriveInfo, RedriveItem, RedriveOptions } from '../../proto/redrive.ts';
import type { DeviceAdmin } from '../device/device.ts';
import type { MessageView } from '../engine/message-list.ts';
import type { QueueAttributes, SpaceAttributes } from '../queue/attributes.ts';
import type { NewValues } from '../queue/command.ts';
import type { GivenCriteria } from '../queue/selection.ts';

export {
  freePages,
  placedExtents,
  RefusedError,
  type DeviceContents,
  type DeviceEntry,
  type Extent,
  type SpaceChanges,
  type SpaceUse,
} from '../device/device.ts';

export interface DevicePort extends DeviceAdmin {
  /** The QMCONFIG device. */
  readonly path: string;
  /** How it is reached, for the greeting: `the daemon is stopped`. */
  readonly reached: string;
  openSpace(name: string): Promise<SpacePort>;
}

export interface SpacePort {
  readonly name: string;
  /** Its log could not be written, or its daemon is gone: only closing it is left. */
  readonly failed: boolean;
  /** A daemon serves it: others work on it too. */
  readonly isServed: boolean;
  attributes(): Promise<SpaceAttributes>;
  /** In the order of their names. */
  queues(): Promise<QueueView[]>;
  /** undefined: there is none. */
  queue(name: string): Promise<QueueView | undefined>;
  /** Durable when it resolves, as all changes. */
  createQueue(attributes: QueueAttributes): Promise<void>;
  changeQueue(name: string, changes: QueueChanges): Promise<void>;
  /** How many messages went with it, which only `purge` allows. */
  destroyQueue(name: string, purge: boolean): Promise<number>;
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

/** What is not given stays. */
export type QueueChanges = Partial<Omit<QueueAttributes, 'name' | 'order'>>;

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

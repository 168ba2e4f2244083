// What can be done with a device as a whole: its list, and the queue spaces on it [spec 5.2, 8.1]. The port, and the values that pass through
// it; behind it stand the files themselves (device-files.ts) and, for qmadmin, a daemon that has them. A refusal is a RefusedError.
import type { SpaceAttributes } from '../queue/attributes.ts';

/** Why something was refused, for who must answer with a code. */
export type Refusal = 'absent' | 'exists' | 'in use' | 'no room' | 'illegal' | 'failed';

/** What was asked for cannot be done; nothing has changed. The message says why and what would be right. */
export class RefusedError extends Error {
  override name = 'RefusedError';
  readonly refusal: Refusal;

  constructor(message: string, options: { cause?: unknown; refusal?: Refusal } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.refusal = options.refusal ?? 'illegal';
  }
}

/** An entry of the device list: so many pages of a file or slice, from this page on [spec 8.1]. */
export interface DeviceEntry {
  readonly device: string;
  readonly offset: number;
  readonly pages: number;
}

/** Pages of the device list that a space took, when it was created or later. */
export interface Extent {
  readonly space: string;
  readonly pages: number;
}

export interface DeviceContents {
  readonly entries: readonly DeviceEntry[];
  readonly extents: readonly Extent[];
}

/** `served`: a daemon has it open, for everyone; `open`: for administration alone; `closed`: nothing of it is in memory. */
export type SpaceState = 'served' | 'open' | 'closed';

/** A queue space and what of it is in memory now [spec 5.2, ipcs]. */
export interface SpaceUse {
  readonly name: string;
  readonly state: SpaceState;
  /** Of a closed one all that follows is 0. */
  readonly ipcKey: number;
  readonly messages: number;
  readonly nonPersistentMessages: number;
  readonly nonPersistentBytes: number;
  readonly transactions: number;
}

/** What qspacechange may change. */
export type SpaceChanges = Partial<Omit<SpaceAttributes, 'name' | 'pages' | 'queues'>>;

export interface Force {
  /** Also when it is in use, or would lose something that the plain form keeps. */
  readonly force: boolean;
}

export interface DeviceAdmin {
  contents(): Promise<DeviceContents>;
  addEntry(entry: DeviceEntry): Promise<void>;
  /** Gives an entry another path. */
  renameEntry(index: number, device: string): Promise<void>;
  removeEntry(index: number): Promise<void>;
  /** The queue spaces on it, by name. */
  spaces(): Promise<SpaceUse[]>;
  /** With what a space was made. */
  attributes(space: string): Promise<SpaceAttributes>;
  createSpace(attributes: SpaceAttributes): Promise<void>;
  changeSpace(space: string, changes: SpaceChanges): Promise<void>;
  /** Gives a space more pages of the device list. */
  addPages(space: string, pages: number): Promise<void>;
  /** How many messages went with it; null: nobody could count them. */
  destroySpace(space: string, how: Force): Promise<number | null>;
  /** Closes a space that nobody serves, and removes its non-persistent messages: how many. */
  removeMemory(space: string, how: Force): Promise<number>;
}

export function freePages({ entries, extents }: DeviceContents): number {
  const have = entries.reduce((sum, { pages }) => sum + pages, 0);
  return extents.reduce((left, { pages }) => left - pages, have);
}

/** Pages of one entry that an extent lies on. */
export interface Placed {
  readonly space: string;
  /** Of the entry. */
  readonly index: number;
  readonly offset: number;
  readonly pages: number;
}

/** Where the extents lie when they are laid one behind the other over the entries; one that does not fit an entry goes on in the next. */
export function placedExtents({ entries, extents }: DeviceContents): Placed[] {
  const placed: Placed[] = [];
  let index = 0;
  let taken = 0;
  for (const { space, pages } of extents) {
    for (let left = pages; left > 0;) {
      const entry = entries[index];
      if (entry === undefined) return placed;
      const part = Math.min(left, entry.pages - taken);
      if (part > 0) placed.push({ space, index, offset: entry.offset + taken, pages: part });
      left -= part;
      taken += part;
      if (taken < entry.pages) continue;
      index++;
      taken = 0;
    }
  }
  return placed;
}

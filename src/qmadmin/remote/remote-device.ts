// A device that a running daemon holds: each operation is a request to it. The daemon checks and does; here only what cannot be sent is refused.
import { isSpaceSettings, isSpaceUse } from '../../../proto/admin.ts';
import { ADMIN, type AdminVerb, LIMIT } from '../../../proto/codes.ts';
import type { Members } from '../../../proto/message.ts';
import type { SpaceAttributes } from '../../queue/attributes.ts';
import {
  RefusedError,
  type DeviceContents,
  type DeviceEntry,
  type DevicePort,
  type Extent,
  type SpaceChanges,
  type SpacePort,
  type SpaceUse,
} from '../port.ts';
import { type Answer, type Link, unexpected } from './link.ts';
import { RemoteSpace } from './remote-space.ts';

/** What the lock's file says of the daemon. */
export interface DaemonPlace {
  readonly pid: string;
  readonly address: string;
  /** How the daemon calls the device. */
  readonly device: string;
}

export class RemoteDevice implements DevicePort {
  readonly path: string;
  readonly reached: string;
  readonly link: Link;
  private readonly device: string;

  constructor(path: string, place: DaemonPlace, link: Link) {
    this.path = path;
    this.reached = `through the running daemon (pid ${place.pid}, ${place.address})`;
    this.device = place.device;
    this.link = link;
  }

  async contents(): Promise<DeviceContents> {
    const entries: DeviceEntry[] = [];
    const extents: Extent[] = [];
    for (const row of await this.all(ADMIN.DEVLIST)) {
      const { device, offset, pages, space } = row;
      if (typeof pages !== 'number') throw unexpected();
      if (typeof device === 'string' && typeof offset === 'number') entries.push({ device, offset, pages });
      else if (typeof space === 'string') extents.push({ space, pages });
      else throw unexpected();
    }
    return { entries, extents };
  }

  async addEntry({ device, offset, pages }: DeviceEntry): Promise<void> {
    await this.ask(ADMIN.DEVADD, '', { entry: sendable(device), offset, pages });
  }

  async renameEntry(index: number, device: string): Promise<void> {
    await this.ask(ADMIN.DEVCHANGE, '', { index, entry: sendable(device) });
  }

  async removeEntry(index: number): Promise<void> {
    await this.ask(ADMIN.DEVREMOVE, '', { index });
  }

  async spaces(): Promise<SpaceUse[]> {
    const rows = await this.all(ADMIN.QSPACELIST);
    return rows.map((row) => {
      if (isSpaceUse(row)) return row;
      throw unexpected();
    });
  }

  async attributes(space: string): Promise<SpaceAttributes> {
    const { members } = await this.ask(ADMIN.QSPACEATTR, space);
    if (isSpaceSettings(members)) return members;
    throw unexpected();
  }

  async createSpace({ name, ...members }: SpaceAttributes): Promise<void> {
    await this.ask(ADMIN.QSPACECREATE, name, members);
  }

  async changeSpace(space: string, changes: SpaceChanges): Promise<void> {
    await this.ask(ADMIN.QSPACECHANGE, space, { ...changes });
  }

  async addPages(space: string, pages: number): Promise<void> {
    await this.ask(ADMIN.QSPACEADD, space, { pages });
  }

  async destroySpace(space: string, { force }: { readonly force: boolean }): Promise<number | null> {
    const { members } = await this.ask(ADMIN.QSPACEDESTROY, space, { force });
    const count = countIn(members);
    return count < 0 ? null : count;
  }

  async removeMemory(space: string, { force }: { readonly force: boolean }): Promise<number> {
    return countIn((await this.ask(ADMIN.IPCRM, space, { force })).members);
  }

  async openSpace(name: string): Promise<SpacePort> {
    const { qspace, served } = (await this.ask(ADMIN.QSPACEOPEN, name)).members;
    if (typeof qspace !== 'string' || typeof served !== 'boolean') throw unexpected();
    return new RemoteSpace(this.link, { name, qspace, isServed: served });
  }

  /** All pages of a list. */
  private async all(verb: AdminVerb): Promise<Members[]> {
    const rows: Members[] = [];
    for (;;) {
      const { members, items } = await this.ask(verb, '', { after: rows.length });
      rows.push(...items);
      if (members['more'] !== true || items.length === 0) return rows;
    }
  }

  private ask(verb: AdminVerb, qspace: string, members: Members = {}): Promise<Answer> {
    return this.link.ask(verb, { qspace, members: { device: this.device, ...members } });
  }
}

function countIn({ count }: Members): number {
  if (typeof count !== 'number') throw unexpected();
  return count;
}

function sendable(path: string): string {
  if (Buffer.byteLength(path) <= LIMIT.STRING_BYTES) return path;
  throw new RefusedError(
    `a path of more than ${LIMIT.STRING_BYTES} bytes can only be given while the daemon is stopped`,
  );
}

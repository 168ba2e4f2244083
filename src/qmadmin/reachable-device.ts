// The device, however it can be reached at the moment: by this process when nobody holds it, through the daemon that holds it otherwise. Owns the
// connection to the daemon. Invariants: found out anew for every command, so that a daemon may start or stop during a session; a command that
// may have taken effect is not given a second time.
import { LIMIT } from '../../proto/codes.ts';
import type { SpaceAttributes } from '../queue/attributes.ts';
import { deviceHolder } from '../wal/local/device-lock.ts';
import { errorText, type FileIo } from '../wal/local/file-io.ts';
import { LogError } from '../wal/log-store.ts';
import type { LocalDevice } from './local/local-device.ts';
import {
  RefusedError,
  type DeviceContents,
  type DeviceEntry,
  type DevicePort,
  type SpaceChanges,
  type SpacePort,
  type SpaceUse,
} from './port.ts';
import { type Connect, LostError } from './remote/link.ts';
import { RemoteDevice } from './remote/remote-device.ts';

/** Requests name a space as `device:space`. */
const DEVICE_BYTES_MAX = LIMIT.STRING_BYTES - LIMIT.TMQSNAMELEN - 1;

export interface ReachPorts {
  readonly local: LocalDevice;
  readonly connect: Connect;
  readonly io: FileIo;
}

export class ReachableDevice implements DevicePort {
  readonly path: string;
  private readonly ports: ReachPorts;
  private remote: RemoteDevice | null = null;
  /** The way is being found out: who asks meanwhile goes the same. */
  private reaching: Promise<DevicePort> | null = null;

  constructor(ports: ReachPorts) {
    this.ports = ports;
    this.path = ports.local.path;
  }

  get reached(): string {
    return (this.remote ?? this.ports.local).reached;
  }

  /** Whether qmadmin may begin. */
  async check(): Promise<void> {
    this.ports.local.check();
    await this.reach();
  }

  contents(): Promise<DeviceContents> {
    return this.by((device) => device.contents());
  }

  addEntry(entry: DeviceEntry): Promise<void> {
    return this.by((device) => device.addEntry(entry));
  }

  renameEntry(index: number, path: string): Promise<void> {
    return this.by((device) => device.renameEntry(index, path));
  }

  removeEntry(index: number): Promise<void> {
    return this.by((device) => device.removeEntry(index));
  }

  spaces(): Promise<SpaceUse[]> {
    return this.by((device) => device.spaces());
  }

  attributes(space: string): Promise<SpaceAttributes> {
    return this.by((device) => device.attributes(space));
  }

  createSpace(attributes: SpaceAttributes): Promise<void> {
    return this.by((device) => device.createSpace(attributes));
  }

  changeSpace(space: string, changes: SpaceChanges): Promise<void> {
    return this.by((device) => device.changeSpace(space, changes));
  }

  addPages(space: string, pages: number): Promise<void> {
    return this.by((device) => device.addPages(space, pages));
  }

  destroySpace(space: string, how: { readonly force: boolean }): Promise<number | null> {
    return this.by((device) => device.destroySpace(space, how));
  }

  removeMemory(space: string, how: { readonly force: boolean }): Promise<number> {
    return this.by((device) => device.removeMemory(space, how));
  }

  openSpace(name: string): Promise<SpacePort> {
    return this.by((device) => device.openSpace(name));
  }

  async close(): Promise<void> {
    await this.reaching?.catch(() => {});
    await this.remote?.link.close();
    this.remote = null;
  }

  /** A daemon that went away before it got the request is nothing to complain about. */
  private async by<T>(work: (device: DevicePort) => Promise<T>): Promise<T> {
    const device = await this.reach();
    try {
      return await work(device);
    } catch (error) {
      if (!(error instanceof LostError)) throw error;
      await this.close();
      if (error.outcomeUnknown) throw error;
    }
    return work(await this.reach());
  }

  private reach(): Promise<DevicePort> {
    this.reaching ??= this.findWay().finally(() => {
      this.reaching = null;
    });
    return this.reaching;
  }

  private async findWay(): Promise<DevicePort> {
    if (this.remote !== null) return this.remote;
    const { local, connect, io } = this.ports;
    const held = await local.checkFree().then(
      () => null,
      (error: unknown) => error,
    );
    if (held === null) return local;
    // With a cause it is a call that failed, not another holder.
    const isHeld = held instanceof LogError && held.kind === 'Unavailable' && held.cause === undefined;
    if (!isHeld) throw held;
    const holder = deviceHolder(this.path, io);
    if (holder === null || holder.address === null) {
      const why = 'it takes no requests: a daemon that is starting or stopping, or another qmadmin or tool';
      throw new RefusedError(`${held.message}; ${why}`, { cause: held, refusal: 'in use' });
    }
    const { pid, address, device } = holder;
    if (Buffer.byteLength(device) > DEVICE_BYTES_MAX) {
      const why = `its path is too long for requests (more than ${DEVICE_BYTES_MAX} bytes): stop the daemon first`;
      throw new RefusedError(`${held.message}; ${why}`, { refusal: 'in use' });
    }
    try {
      this.remote = new RemoteDevice(this.path, { pid, address, device }, await connect(address));
    } catch (error) {
      const why = `it does not answer at ${address}: ${errorText(error)}`;
      throw new RefusedError(`${held.message}; ${why}`, { cause: error, refusal: 'in use' });
    }
    return this.remote;
  }
}

// The devices whose locks the daemon holds, as an administrator works on them. Owns the queue spaces that are open for administration alone: one
// that the configuration does not name is opened when somebody asks for it, and stays so until it is removed from memory, changed or destroyed,
// or the daemon stops. Must not know requests.
import type { Ulog } from '../base/ulog.ts';
import type { HostedDevice } from '../admin/devices.ts';
import type { NamedSpace } from '../admin/views.ts';
import { DeviceFiles } from '../device/device-files.ts';
import type { SpacePorts } from '../device/open-space.ts';
import type { SpaceEngine } from '../engine/space-engine.ts';

export interface HostedPorts {
  readonly spaces: SpacePorts;
  /** The spaces that the configuration names and that are open. */
  readonly served: () => readonly NamedSpace[];
  readonly ulog: Ulog;
}

export class HostedDevices {
  private readonly ports: HostedPorts;
  private readonly byPath = new Map<string, Hosted>();

  constructor(ports: HostedPorts) {
    this.ports = ports;
  }

  add(path: string): void {
    this.byPath.set(path, new Hosted(path, this.ports));
  }

  find(path: string): HostedDevice | undefined {
    return this.byPath.get(path);
  }

  /** Those that are open for administration alone. */
  opened(): NamedSpace[] {
    return [...this.byPath.values()].flatMap(({ spacesOpen }) => [...spacesOpen.values()]);
  }

  /** Waits for what is under way, then closes what is open here. */
  async close(): Promise<void> {
    const devices = [...this.byPath.values()];
    this.byPath.clear();
    await Promise.all(devices.map((device) => device.close()));
  }
}

class Hosted extends DeviceFiles implements HostedDevice {
  readonly spacesOpen = new Map<string, NamedSpace>();
  private readonly served: HostedPorts['served'];
  private readonly ulog: Ulog;

  constructor(path: string, { spaces, served, ulog }: HostedPorts) {
    super(path, spaces, {
      find: (name) => {
        const space = this.known(name);
        return space === undefined ? undefined : { engine: space.engine, isServed: space.isServed !== false };
      },
      close: (name) => this.closeOne(name),
    });
    this.served = served;
    this.ulog = ulog;
  }

  async openSpace(name: string): Promise<NamedSpace> {
    const known = this.known(name);
    if (known !== undefined && (known.isServed !== false || known.engine.journal.failure === null))
      return known;
    if (known !== undefined) await this.alone(() => this.closeOne(name));
    return this.open(name, (engine) => this.keep(name, engine));
  }

  close(): Promise<void> {
    return this.alone(async () => {
      for (const name of this.spacesOpen.keys()) await this.closeOne(name);
    });
  }

  private keep(name: string, engine: SpaceEngine): NamedSpace {
    const known = this.known(name);
    if (known !== undefined) return known;
    const fields = { space: name, device: this.path };
    engine.onFailure = (error) =>
      this.ulog.error(`the log of queue space ${name}, which is open for administration, failed`, {
        ...fields,
        error: error.message,
      });
    this.ulog.info(
      `queue space ${name} was opened for administration; the configuration does not name it`,
      fields,
    );
    const space: NamedSpace = { engine, name, device: this.path, aliases: [], isServed: false };
    this.spacesOpen.set(name, space);
    return space;
  }

  private known(name: string): NamedSpace | undefined {
    return (
      this.served().find((space) => space.device === this.path && space.name === name) ??
      this.spacesOpen.get(name)
    );
  }

  private async closeOne(name: string): Promise<void> {
    const space = this.spacesOpen.get(name);
    this.spacesOpen.delete(name);
    await space?.engine.close();
  }
}

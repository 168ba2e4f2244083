// What goes wrong while the clients work, at times drawn from the seed. Invariant: when it is told to end, everything is mended: the disk has
// room, the network is as it was, and what starts now runs well.
import type { Host } from './host.ts';
import type { SimNetwork } from './network.ts';
import type { Scenario } from './scenario.ts';
import type { World } from './world.ts';

const FULL_MS = 1500;
const STEP_MS = 600_000;

export class Chaos {
  private readonly world: World;
  private readonly host: Host;
  private isOver = false;

  constructor(world: World, host: Host, parts: { network: SimNetwork; scenario: Scenario }) {
    this.world = world;
    this.host = host;
    const { network, scenario } = parts;
    const { troubles } = scenario;
    const prng = world.prng('chaos');
    this.repeat('kill', troubles.killMs, () => host.kill());
    this.repeat('power', troubles.powerMs, () => host.cutPower());
    this.repeat('stop', troubles.stopMs, () => void host.stop());
    this.repeat('cut', troubles.cutMs, () => network.cutOne());
    this.repeat('silence', troubles.silenceMs, () => network.silenceOne());
    this.repeat('wall', troubles.wallStepMs, () => {
      host.wall.aheadMs += prng.between(-STEP_MS, STEP_MS);
    });
    this.repeat('full', troubles.diskFullMs, () => {
      host.disk.capacityBytes = host.disk.usedBytes + prng.between(0, 128 * 1024);
      world.after(prng.between(1, FULL_MS), () => {
        host.disk.capacityBytes = Infinity;
      });
    });
  }

  end(): void {
    this.isOver = true;
    this.host.calm();
  }

  /** Something that comes again and again, `everyMs` apart on average. */
  private repeat(name: string, everyMs: number, happen: () => void): void {
    if (everyMs === 0) return;
    const prng = this.world.prng(`chaos ${name}`);
    const next = (): void => {
      this.world.after(prng.between(1, 2 * everyMs), () => {
        if (this.isOver) return;
        this.world.trace.add(`${this.world.nowMs.toFixed(3)} chaos: ${name}`);
        happen();
        next();
      });
    };
    next();
  }
}

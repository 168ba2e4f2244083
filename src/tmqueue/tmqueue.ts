// The TMQUEUE role [TMQUEUE(5), spec 4.1]: which names lead to which queue space, and what may wait how long. One served space per queue
// space; its names are services like any other to a client.
import type { SpaceEngine } from '../engine/space-engine.ts';

/** A queue space as TMQUEUE offers it. */
export interface ServedSpace {
  readonly engine: SpaceEngine;
  /** `-t` in milliseconds: bounds every TPQWAIT outside a transaction. */
  readonly timeoutMs: number;
  /** The queue space's own name. */
  readonly name: string;
  readonly device: string;
  readonly aliases: string[];
}

export class Tmqueue {
  private readonly byAlias = new Map<string, ServedSpace>();
  private readonly served: ServedSpace[] = [];

  /** Offers a space under its aliases. An alias already taken is a fault of the configuration and refused there. */
  serve(space: ServedSpace): void {
    this.served.push(space);
    for (const alias of space.aliases) this.byAlias.set(alias, space);
  }

  find(qspace: string): ServedSpace | undefined {
    return this.byAlias.get(qspace);
  }

  spaces(): readonly ServedSpace[] {
    return this.served;
  }
}

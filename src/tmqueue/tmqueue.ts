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

/** A queue space that TMQUEUE should offer and that could not be opened, while others could: QMENOTOPEN. */
export interface ClosedSpace {
  readonly name: string;
  readonly device: string;
  readonly aliases: string[];
  /** Why, for the operator. */
  readonly reason: string;
}

export class Tmqueue {
  private readonly closedByAlias = new Map<string, ClosedSpace>();
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

  /** Takes note of a space that did not open. */
  close(space: ClosedSpace): void {
    for (const alias of space.aliases) this.closedByAlias.set(alias, space);
  }
  findClosed(qspace: string): ClosedSpace | undefined {
    return this.closedByAlias.get(qspace);
  }
  closedSpaces(): readonly ClosedSpace[] {
    return [...new Set(this.closedByAlias.values())];
  }

  spaces(): readonly ServedSpace[] {
    return this.served;
  }
}

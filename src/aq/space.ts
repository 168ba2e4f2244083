// A queue space as the AQ role sees it.
import type { SpaceEngine } from '../engine/space-engine.ts';

export interface AqSpace {
  readonly engine: SpaceEngine;
  readonly name: string;
  readonly aliases: readonly string[];
}

// What decisions about entries of the AQ dialect need of the engine they are made in: its clocks, and room in its log. Nothing is read before
// it is asked for: commits of the /Q dialect cost no more for it.
import type { AqTerms } from '../../queue/aq.ts';
import { moveBytes } from '../record.ts';
import type { SpaceEngine } from '../space-engine.ts';

export function aqTermsOf(engine: SpaceEngine): AqTerms {
  return {
    get nowMs() {
      return engine.time.nowMs();
    },
    get wallMs() {
      return engine.wallMs();
    },
    mayMove: (from) => engine.journal.reserveSmall(moveBytes(from)),
  };
}

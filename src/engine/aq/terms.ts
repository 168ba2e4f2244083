// What decisions about entries of the AQ dialect need of the engine they are made in: its clocks, and room in its log. Nothing is read before
// it is asked for: commits of the /Q dialect cost no more for it.
import type { AqTerms } from '../../queue/aq.ts';
import type { MessageId } from '../../queue/message.ts';
import { ENTRY } from '../../queue/tables.ts';
import { moveBytes } from '../record.ts';
import type { SpaceEngine } from '../space-engine.ts';

/** How long a full log is left alone. */
const AGAIN_MS = 1000;

export function aqTermsOf(engine: SpaceEngine): AqTerms {
  const waiting: { entry: number; id: MessageId }[] = [];
  return {
    get nowMs() {
      return engine.time.nowMs();
    },
    get wallMs() {
      return engine.wallMs();
    },
    mayMove: (from) => engine.journal.reserveSmall(moveBytes(from)),
    later: (entry) => {
      waiting.push({ entry, id: engine.space.id(entry) });
      if (waiting.length > 1) return;
      engine.timers.set(engine.monoMs() + AGAIN_MS, () => lookAgain(engine, waiting.splice(0)));
    },
  };
}

/** Entries, which may be gone by now or be others'. */
type Waiting = readonly { readonly entry: number; readonly id: MessageId }[];

function lookAgain(engine: SpaceEngine, waiting: Waiting): void {
  const { space } = engine;
  for (const { entry, id } of waiting) {
    if (space.entryById(id) !== entry) continue;
    const state = space.entries.state.get(entry);
    if (state === ENTRY.HELD) engine.run({ kind: 'unhold', entry });
    else if (state === ENTRY.EXHAUSTED) space.finishing.push(entry);
  }
  engine.settle();
}

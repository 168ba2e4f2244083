// Changes of what a space is made of, one step after the other, each a record of its log: with pauses when there is no room yet, during which
// nothing else of the client overtakes the request. The steps of one turn are in one batch.
import { QME, TPERRNO } from '../../../proto/codes.ts';
import type { Members } from '../../../proto/message.ts';
import type { EnqueueOutcome } from '../../engine/request.ts';
import { aqFailed, type AqAsked } from '../asked.ts';

export type Step = () => Omit<EnqueueOutcome, 'id'>;

export class Changing {
  private readonly asked: AqAsked;
  private readonly steps: Step[];
  private readonly members: Members;
  private batch = 0;
  private isCancelled = false;

  /** @param members what is answered when all is done and durable */
  constructor(asked: AqAsked, steps: readonly Step[], members: Members = {}) {
    this.asked = asked;
    this.steps = [...steps];
    this.members = members;
  }

  /** @param said what has changed, for the log */
  run(said: (text: string) => void, text: string): void {
    const { asked, steps } = this;
    for (let step = steps[0]; step !== undefined; step = steps[0]) {
      const { code, later, batch } = step();
      if (later) return this.wait(said, text);
      if (code !== QME.OK) {
        const why = `queue space ${asked.space.name} has no room for this, or open transactions have work on the queue`;
        return asked.refuse(aqFailed(code, why));
      }
      this.batch = Math.max(this.batch, batch);
      steps.shift();
    }
    said(text);
    return asked.answer(this.batch, this.members);
  }

  private wait(said: (text: string) => void, text: string): void {
    const { client, request, space } = this.asked;
    client.pending.set(request.id, {
      cancel: () => {
        if (this.isCancelled) return false;
        this.isCancelled = true;
        this.asked.refuse(aqFailed(TPERRNO.TPGOTSIG, 'cancelled while it waited for room'));
        return true;
      },
    });
    client.block();
    space.engine.whenRoom(() => {
      client.pending.delete(request.id);
      if (!this.isCancelled) this.run(said, text);
      if (!client.pending.has(request.id)) client.unblock();
    });
  }
}

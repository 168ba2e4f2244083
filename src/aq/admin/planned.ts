// An administrator's request as a plan: what has to change, made anew from what is there whenever it is tried. So nothing is carried out that was
// decided before a wait for room in the log, and all of it comes to be in one batch or none of it.
import { QME, TPERRNO } from '../../../proto/codes.ts';
import type { Clock } from '../../base/clock.ts';
import type { Change } from '../../engine/defining.ts';
import { aqFailed, type AqAsked, type AqRefused } from '../asked.ts';

export interface Plan {
  readonly change: Change;
  /** What has changed then, for the log. */
  readonly said: string;
  /** It is answered when this is so; absent: at once. */
  readonly until?: () => boolean;
}
/** Must not change anything. */
export type Planner = (asked: AqAsked) => Plan | AqRefused;

export interface PlanPorts {
  readonly clock: Clock;
  readonly said: (asked: AqAsked, text: string) => void;
}

/** How often it is looked whether what an answer waits for is so, in milliseconds. */
const POLL_MS = 50;

/** Carries out what the planner says, as soon as there is room for it; nothing else of the client overtakes it meanwhile. */
export function carryOut(asked: AqAsked, planner: Planner, ports: PlanPorts): void {
  const { engine, name } = asked.space;
  const plan = planner(asked);
  if ('fault' in plan) return asked.refuse(plan, engine.space.namesBatch);
  const { code, later, batch } = engine.defining.change(plan.change);
  if (later) return asked.whenRoom(() => carryOut(asked, planner, ports));
  if (code !== QME.OK) {
    const why = `queue space ${name} has no room for this, or its log failed; nothing has changed`;
    return asked.refuse(aqFailed(code, why));
  }
  const { until } = plan;
  if (until === undefined || until()) return done(asked, plan, { batch, ports });
  return new Awaited(asked, plan, { batch, ports }).look();
}

interface Outcome {
  readonly batch: number;
  readonly ports: PlanPorts;
}

function done(asked: AqAsked, { said }: Plan, { batch, ports }: Outcome): void {
  ports.said(asked, said);
  asked.answer(batch);
}

/** What was asked for is in effect, and its answer waits for something else. */
class Awaited {
  private readonly asked: AqAsked;
  private readonly plan: Plan;
  private readonly outcome: Outcome;
  private isCancelled = false;

  constructor(asked: AqAsked, plan: Plan, outcome: Outcome) {
    this.asked = asked;
    this.plan = plan;
    this.outcome = outcome;
    asked.client.pending.set(asked.request.id, { cancel: () => this.cancel() });
  }

  look(): void {
    const { asked, plan, outcome } = this;
    if (this.isCancelled) return undefined;
    // A daemon that stops ends all transactions; a log that failed lets none end.
    const isOver = plan.until?.() !== false || asked.space.engine.journal.failure !== null;
    if (isOver) return done(asked, plan, outcome);
    const { clock } = outcome.ports;
    clock.setTimer(clock.monoMs() + POLL_MS, () => this.look());
    return undefined;
  }

  private cancel(): boolean {
    if (this.isCancelled) return false;
    this.isCancelled = true;
    const text = 'cancelled while it waited for open transactions; what was asked for is in effect';
    this.asked.refuse(aqFailed(TPERRNO.TPGOTSIG, text), this.outcome.batch);
    return true;
  }
}

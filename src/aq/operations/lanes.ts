// Who gets a message of a multi-consumer queue [oracle-aq 4.1, 6.4]: the lanes of the recipients that it names, or of the subscribers whose rule it
// fulfils. An agent that is named and does not subscribe has a lane for as long as there is something on it.
import { AQ_LIMIT } from '../../../proto/aq/limits.ts';
import { parseCondition, type Condition } from '../../conditions/condition.ts';
import type { Subject } from '../../conditions/evaluate.ts';
import type { SpaceEngine } from '../../engine/space-engine.ts';
import {
  QUEUE_DEFAULTS,
  type AqAgent,
  type AqConsumer,
  type QueueAttributes,
} from '../../queue/attributes.ts';
import type { Queue } from '../../queue/queue.ts';
import { agentKey } from '../../queue/recipients.ts';
import { QME } from '../../../proto/codes.ts';
import { agentFault, agentText } from '../agent.ts';
import { aqError, aqFailed, type AqRefused } from '../asked.ts';

/** The lane could not be made yet: there is no room in the log. */
export const NO_ROOM_YET = 'later';

/** Nothing may be promised to another queue. */
export const NO_PROPAGATION = 'messages are not brought to other queues yet';

/** Conditions of rules by the consumer whose they are: attributes are never changed, they are replaced. */
const rules = new WeakMap<AqConsumer, Condition | null>();
/** How often the rule of a lane could not be evaluated [DESIGN 9]. */
const failures = new WeakMap<Queue, number>();

export function ruleFailures(lane: Queue): number {
  return failures.get(lane) ?? 0;
}

/** The subscribers that a message goes to. */
export function subscribersFor(queue: Queue, subject: Subject, kind: number): Queue[] {
  const found: Queue[] = [];
  for (const lane of queue.lanes?.values() ?? []) {
    const consumer = lane.attributes.aq?.consumer ?? null;
    if (consumer === null || !consumer.subscribed || (consumer.deliveryMode & kind) === 0) continue;
    if (fulfils(lane, consumer, subject)) found.push(lane);
  }
  return found;
}

function fulfils(lane: Queue, consumer: AqConsumer, subject: Subject): boolean {
  let rule = rules.get(consumer);
  if (rule === undefined) {
    const read = consumer.rule === '' ? null : parseCondition(consumer.rule, 'rule');
    rule = read?.ok === true ? read.value : null;
    rules.set(consumer, rule);
  }
  if (rule === null) return true;
  const verdict = rule.evaluate(subject);
  if (verdict === 'error') failures.set(lane, ruleFailures(lane) + 1);
  return verdict === true;
}

/** What is wrong with a list of recipients; null: nothing. */
export function recipientsFault(agents: readonly AqAgent[]): AqRefused | null {
  if (agents.length > AQ_LIMIT.RECIPIENTS)
    return aqError(25_251, `a message has at most ${AQ_LIMIT.RECIPIENTS} recipients, found ${agents.length}`);
  const keys = new Set<string>();
  const byAddress = new Map<string, number>();
  for (const agent of agents) {
    const fault = agentFault(agent);
    if (fault !== null) return fault;
    if (keys.has(agentKey(agent))) return aqError(25_232, `${agentText(agent)} is a recipient twice`);
    keys.add(agentKey(agent));
    const count = (byAddress.get(agent.address) ?? 0) + 1;
    byAddress.set(agent.address, count);
    if (agent.address !== '' && count > AQ_LIMIT.RECIPIENTS_PER_ADDRESS)
      return aqError(
        25_238,
        `at most ${AQ_LIMIT.RECIPIENTS_PER_ADDRESS} recipients have the address ${agent.address}`,
      );
  }
  const far = agents.find(({ address }) => address !== '');
  return far === undefined ? null : aqError(24_083, `${agentText(far)}: ${NO_PROPAGATION}`);
}

/** The lanes of these agents; one that has none gets one. */
export function lanesOf(
  engine: SpaceEngine,
  queue: Queue,
  agents: readonly AqAgent[],
): Queue[] | AqRefused | typeof NO_ROOM_YET {
  const lanes: Queue[] = [];
  for (const agent of agents) {
    const lane = laneOf(engine, queue, agent);
    if (lane === NO_ROOM_YET || 'fault' in lane) return lane;
    lanes.push(lane);
  }
  return lanes;
}

/** The lane of one agent, made when it has none. */
export function laneOf(
  engine: SpaceEngine,
  queue: Queue,
  agent: AqAgent,
): Queue | AqRefused | typeof NO_ROOM_YET {
  const known = queue.lanes?.get(agentKey(agent));
  if (known !== undefined) return known;
  const strangers = [...(queue.lanes?.values() ?? [])].filter(isStranger).length;
  if (strangers >= AQ_LIMIT.RECIPIENTS)
    return aqError(25_251, `at most ${AQ_LIMIT.RECIPIENTS} agents that do not subscribe have something here`);
  const consumer = {
    ...agent,
    of: queue.number,
    subscribed: false,
    rule: '',
    deliveryMode: 3,
    queueToQueue: false,
  };
  const { code, later } = engine.define({ kind: 'defineQueue', attributes: laneAttributes(queue, consumer) });
  if (later) return NO_ROOM_YET;
  const made = queue.lanes?.get(agentKey(agent));
  if (code === QME.OK && made !== undefined) return made;
  return aqFailed(
    code,
    `there is no room for a recipient ${agentText(agent)} in queue space ${engine.space.name}`,
  );
}

/** What the lane of a consumer is: ordered as its queue is. */
export function laneAttributes(queue: Queue, consumer: AqConsumer): QueueAttributes {
  const { name, order, outOfOrder, aq } = queue.attributes;
  const table = aq?.table ?? '';
  const own = { table, type: aq?.type ?? 0, retentionS: 0, comment: '', consumer };
  return { ...QUEUE_DEFAULTS, name: `${name}:${agentText(consumer)}`, order, outOfOrder, aq: own };
}

/** Whether it is the lane of an agent that does not subscribe. */
export function isStranger(lane: Queue): boolean {
  return lane.attributes.aq?.consumer?.subscribed === false;
}

/** Takes away the lanes of those who do not subscribe and have nothing. */
export function sweepLanes(engine: SpaceEngine): void {
  for (const queue of engine.space.queues()) {
    for (const lane of Array.from(queue.lanes?.values() ?? [])) {
      if (!isStranger(lane) || lane.messages + lane.pending + lane.locked + lane.waiting > 0) continue;
      // No room: later.
      if (engine.destroyQueue(lane.number).later) return;
    }
  }
}

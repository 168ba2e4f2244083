// Subscribers of multi-consumer queues [oracle-aq 5.3]: each has a lane of the queue, which sees what is enqueued from then on.
import { DBMS_AQADM } from '../../../proto/aq/constants.ts';
import { AQ_LIMIT } from '../../../proto/aq/limits.ts';
import { TPERRNO } from '../../../proto/codes.ts';
import { parseCondition } from '../../conditions/condition.ts';
import { AQ_TYPE, type AqAgent } from '../../queue/attributes.ts';
import type { Queue } from '../../queue/queue.ts';
import { agentKey } from '../../queue/recipients.ts';
import { agentFault, agentText } from '../agent.ts';
import { aqError, aqFailed, type AqAsked, type AqRefused } from '../asked.ts';
import { Given } from '../given.ts';
import { isStranger, laneAttributes, NO_PROPAGATION } from '../operations/lanes.ts';
import type { Plan } from './planned.ts';

const { PERSISTENT, BUFFERED, PERSISTENT_OR_BUFFERED } = DBMS_AQADM;

interface Named {
  readonly queue: Queue;
  readonly agent: AqAgent;
  readonly given: Given;
}

/** The queue and the agent that a request is about. */
function named(asked: AqAsked): Named | AqRefused {
  const queue = asked.queue(24_010);
  if ('fault' in queue) return queue;
  if (queue.attributes.aq?.type === AQ_TYPE.EXCEPTION) return aqError(24_050);
  if (queue.lanes === null) return aqError(24_039);
  const given = new Given(asked.request.members);
  const agent = {
    name: given.text('name'),
    address: given.text('address'),
    protocol: given.whole('protocol', 0, { min: 0, max: AQ_LIMIT.PROTOCOL_MAX, error: 24_046 }),
  };
  const fault = given.fault ?? agentFault(agent);
  if (fault !== null) return fault;
  if (agent.address === '') return { queue, agent, given };
  return aqError(24_083, `${agentText(agent)}: ${NO_PROPAGATION}`);
}

function ruleFault(rule: string): AqRefused | null {
  if (rule === '') return null;
  const parsed = parseCondition(rule, 'rule');
  return parsed.ok ? null : aqFailed(TPERRNO.TPEINVAL, `rule: ${parsed.fault}`);
}

export function addSubscriber(asked: AqAsked): Plan | AqRefused {
  const found = named(asked);
  if ('fault' in found) return found;
  const { queue, agent, given } = found;
  const rule = given.text('rule');
  const kinds = [PERSISTENT, BUFFERED, PERSISTENT_OR_BUFFERED];
  const deliveryMode = given.oneOf('deliveryMode', PERSISTENT, { of: kinds, error: 25_299 });
  const queueToQueue = given.flag('queueToQueue', false);
  const fault = given.finish() ?? ruleFault(rule);
  if (fault !== null) return fault;
  if (queueToQueue) return aqError(24_083, `queueToQueue: ${NO_PROPAGATION}`);
  const known = queue.lanes?.get(agentKey(agent));
  if (known !== undefined && !isStranger(known)) return aqError(24_034);
  const subscribers = [...(queue.lanes?.values() ?? [])].filter((lane) => !isStranger(lane)).length;
  if (subscribers >= AQ_LIMIT.SUBSCRIBERS) return aqError(24_067);
  const consumer = { ...agent, of: queue.number, subscribed: true, rule, deliveryMode, queueToQueue };
  const attributes = laneAttributes(queue, consumer);
  const define = [{ kind: 'defineQueue', attributes }] as const;
  return { change: { define }, said: `${agentText(agent)} subscribes to queue ${queue.attributes.name}` };
}

export function alterSubscriber(asked: AqAsked): Plan | AqRefused {
  const found = named(asked);
  if ('fault' in found) return found;
  const { queue, agent, given } = found;
  // What is not given is none: both are replaced [oracle-aq 5.3].
  const rule = given.text('rule');
  const fault = given.finish() ?? ruleFault(rule);
  if (fault !== null) return fault;
  const lane = queue.lanes?.get(agentKey(agent));
  const consumer = lane?.attributes.aq?.consumer ?? null;
  if (lane === undefined || consumer === null || isStranger(lane)) return aqError(24_035);
  const attributes = laneAttributes(queue, { ...consumer, rule });
  const define = [{ kind: 'defineQueue', attributes }] as const;
  return { change: { define }, said: `rule of ${agentText(agent)} on ${queue.attributes.name} changed` };
}

export function removeSubscriber(asked: AqAsked): Plan | AqRefused {
  const found = named(asked);
  if ('fault' in found) return found;
  const { queue, agent, given } = found;
  const fault = given.finish();
  if (fault !== null) return fault;
  const lane = queue.lanes?.get(agentKey(agent));
  if (lane === undefined || isStranger(lane)) return aqError(24_035);
  if (lane.locked + lane.pending > 0) return aqError(25_320);
  const said = `${agentText(agent)} subscribes to queue ${queue.attributes.name} no more`;
  return { change: { destroy: [lane.number] }, said };
}

export function queueSubscribers(asked: AqAsked): void {
  const queue = asked.queue(24_010);
  if ('fault' in queue) return asked.refuse(queue);
  if (queue.lanes === null) return asked.refuse(aqError(24_039));
  const fault = new Given(asked.request.members).finish();
  if (fault !== null) return asked.refuse(fault);
  const items = [];
  for (const lane of queue.lanes.values()) {
    const consumer = lane.attributes.aq?.consumer ?? null;
    if (consumer === null || isStranger(lane)) continue;
    const { name, address, protocol, rule, deliveryMode } = consumer;
    const counts = { ready: lane.ready, waiting: lane.delayed, messages: lane.messages };
    const members = { name, address, protocol, rule, deliveryMode, ...counts };
    items.push({ members, body: { type: '', subtype: '', data: null } });
  }
  return asked.answer(asked.space.engine.space.namesBatch, {}, items);
}

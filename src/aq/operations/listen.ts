// LISTEN [oracle-aq 4.7]: which of several agents has something, in the order of their list. Takes nothing. Agents may be of several queue spaces.
import { DBMS_AQ } from '../../../proto/aq/constants.ts';
import { AQ_LIMIT } from '../../../proto/aq/limits.ts';
import { TPERRNO } from '../../../proto/codes.ts';
import type { Pending } from '../../atmi/client.ts';
import { failure, type AqRefusal, type ListenRequest } from '../../engine/aq/request.ts';
import type { BatchNumber } from '../../engine/request.ts';
import type { SpaceEngine } from '../../engine/space-engine.ts';
import { AQ_TYPE } from '../../queue/attributes.ts';
import type { Queue } from '../../queue/queue.ts';
import { agentKey } from '../../queue/recipients.ts';
import { aqError, aqFailed, type AqAsked, type AqRefused } from '../asked.ts';
import { Given } from '../given.ts';
import { parseName } from '../names.ts';
import type { AqSpace } from '../space.ts';

const { FOREVER, PERSISTENT, BUFFERED, PERSISTENT_OR_BUFFERED } = DBMS_AQ;
const MS = 1000;

/** An agent of the list, found. */
interface Heard {
  readonly space: AqSpace;
  readonly lane: Queue;
  readonly name: string;
  readonly address: string;
}

export interface ListenPorts {
  readonly find: (qspace: string) => AqSpace | undefined;
  readonly monoMs: () => number;
}

export function listen(asked: AqAsked, ports: ListenPorts): void {
  const given = new Given(asked.request.members);
  const waitS = given.whole('wait', FOREVER, { min: FOREVER, max: AQ_LIMIT.SECONDS, error: 25_230 });
  const kinds = [PERSISTENT, BUFFERED, PERSISTENT_OR_BUFFERED];
  const kind = given.oneOf('deliveryMode', PERSISTENT, { of: kinds, error: 25_299 });
  const fault = given.finish();
  if (fault !== null) return asked.refuse(fault);
  const agents = agentsOf(asked, ports);
  if (!Array.isArray(agents)) return asked.refuse(agents);
  const deadlineMs = waitS === FOREVER ? Infinity : ports.monoMs() + waitS * MS;
  return new Listening(asked, agents, kind).begin(deadlineMs);
}

function agentsOf(asked: AqAsked, ports: ListenPorts): Heard[] | AqRefused {
  const { items } = asked.request;
  if (items.length === 0) return aqError(25_202, 'the list of agents is empty');
  if (items.length > AQ_LIMIT.AGENTS)
    return aqFailed(TPERRNO.TPEINVAL, `at most ${AQ_LIMIT.AGENTS} agents are listened for`);
  const found: Heard[] = [];
  for (const { members } of items) {
    const given = new Given(members);
    const name = given.text('name');
    const address = given.text('address');
    const hasProtocol = given.has('protocol') && given.whole('protocol', 0, { error: 25_259 }) !== 0;
    const fault = given.finish() ?? (hasProtocol ? aqError(25_259) : null);
    if (fault !== null) return fault;
    const heard = heardOf(asked, ports, { name, address });
    if ('fault' in heard) return heard;
    found.push(heard);
  }
  return found;
}

function heardOf(
  asked: AqAsked,
  { find }: ListenPorts,
  { name, address }: { name: string; address: string },
): Heard | AqRefused {
  const parsed = parseName(address);
  if ('fault' in parsed) return parsed;
  const space = parsed.schema === '' ? asked.space : find(parsed.schema);
  const queue = space?.engine.space.queue(parsed.name);
  if (space === undefined || queue === undefined || queue.attributes.aq === null)
    return aqError(25_205, `there is no queue ${address} of the AQ dialect`);
  const { aq, dequeuePaused } = queue.attributes;
  if (aq.type === AQ_TYPE.NON_PERSISTENT) return aqError(25_252);
  if (dequeuePaused) return aqError(25_253, `queue ${address} is not started for dequeue`);
  if (queue.lanes === null) {
    if (name !== '') return aqError(25_256, `queue ${address} has no consumers: ${name} cannot be one`);
    return { space, lane: queue, name, address };
  }
  if (name === '') return aqError(25_262);
  const lane = queue.lanes.get(agentKey({ name, address: '', protocol: 0 }));
  if (lane === undefined) return aqError(24_035, `${name} does not subscribe to ${address}`);
  return { space, lane, name, address };
}

class Listening implements Pending {
  private readonly asked: AqAsked;
  private readonly agents: readonly Heard[];
  private readonly kind: number;
  private readonly open = new Map<SpaceEngine, ListenRequest>();
  private isOver = false;

  constructor(asked: AqAsked, agents: readonly Heard[], kind: number) {
    this.asked = asked;
    this.agents = agents;
    this.kind = kind;
  }

  begin(deadlineMs: number): void {
    // Whoever stands first in the list and has something is it, whatever space it is of.
    for (const agent of this.agents) {
      if (this.isOver) return;
      agent.space.engine.listen(this.requestOf([agent], { deadlineMs: 0, isLast: false }));
    }
    if (this.isOver) return;
    this.asked.client.pending.set(this.asked.request.id, this);
    for (const engine of new Set(this.agents.map(({ space }) => space.engine))) {
      const own = this.agents.filter(({ space }) => space.engine === engine);
      const request = this.requestOf(own, { deadlineMs, isLast: true });
      this.open.set(engine, request);
      engine.listen(request);
    }
  }

  cancel(): boolean {
    if (this.isOver) return false;
    this.end();
    this.asked.refuse(aqFailed(TPERRNO.TPGOTSIG, 'cancelled by the caller'));
    return true;
  }

  private requestOf(
    agents: readonly Heard[],
    { deadlineMs, isLast }: { deadlineMs: number; isLast: boolean },
  ): ListenRequest {
    return {
      agents: agents.map(({ lane }) => ({ lane, deliveryMode: this.kind })),
      deadlineMs,
      found: (index, kind, batch) => this.found(agents[index] as Heard, kind, batch),
      refused: (refusal) => {
        if (isLast) this.refused(refusal);
      },
    };
  }

  private found({ name, address, space }: Heard, kind: number, batch: BatchNumber): void {
    if (this.isOver) return;
    this.end();
    const members = { name, address, messageDeliveryMode: kind };
    // What it tells of is durable in that space.
    space.engine.hold(batch, {
      released: () => this.asked.answer(0, members),
      failed: () => this.asked.answer(0, members),
    });
  }

  private refused({ fault, code }: AqRefusal): void {
    if (this.isOver) return;
    this.end();
    this.asked.refuse(
      fault === 0 ? aqFailed(code, 'the daemon is stopping, or a queue was dropped') : aqError(fault),
    );
  }

  private end(): void {
    this.isOver = true;
    for (const [engine, request] of this.open) engine.aq.watches.cancel(request, failure(TPERRNO.TPGOTSIG));
    this.open.clear();
  }
}

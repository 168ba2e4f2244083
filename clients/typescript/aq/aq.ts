// The AQ dialect of a context or of a transaction: queues, listening, administration. Must not know how calls are sent.
import { DBMS_AQ } from '../../../proto/aq/constants.ts';
import type { AqReply, AqRequest } from '../../../proto/aq/message.ts';
import { AQ } from '../../../proto/aq/verbs.ts';
import { AqAdmin } from './admin.ts';
import { agentOf } from './message.ts';
import { AqQueue } from './queue.ts';

/** A request, but for what the context adds. */
export interface AqQuestion extends Omit<AqRequest, 'op' | 'id' | 'tx'> {
  readonly operation: string;
  readonly signal?: AbortSignal | undefined;
}
export type AskAq = (question: AqQuestion) => Promise<AqReply>;

const NOTHING = { type: '', subtype: '', data: null };

interface ListenOptions {
  /** Seconds, DBMS_AQ.NO_WAIT or FOREVER; default 30. */
  readonly wait?: number;
  readonly deliveryMode?: number;
  readonly signal?: AbortSignal | undefined;
}

export class Aq {
  readonly admin: AqAdmin;
  private readonly qspace: string;
  private readonly ask: AskAq;

  constructor(qspace: string, ask: AskAq) {
    this.qspace = qspace;
    this.ask = ask;
    this.admin = new AqAdmin(qspace, ask);
  }

  /** A queue by its name, `[schema.]queue`: the schema is a queue space. */
  queue(name: string): AqQueue {
    return new AqQueue(this.qspace, name, this.ask);
  }

  /** A queue as one of its consumers. */
  consumer(queue: string, consumerName: string): AqQueue {
    const found = this.queue(queue);
    found.deqOptions.consumerName = consumerName;
    return found;
  }

  /**
   * Waits until one of the agents has something, and takes nothing: the first in the order of the list. `address` is a queue, `name` its consumer
   * where there are many.
   * @throws 25254 nothing came in time; 25253 a queue is not started for dequeue
   */
  async listen(
    agents: readonly { readonly name?: string; readonly address: string }[],
    { wait = 30, deliveryMode = DBMS_AQ.PERSISTENT, signal }: ListenOptions = {},
  ): Promise<{ name: string; address: string; deliveryMode: number }> {
    const items = agents.map((agent) => {
      const { name, address } = agentOf(agent);
      return { members: { name, address }, body: NOTHING };
    });
    const { qspace } = this;
    const members = { wait, deliveryMode };
    const asked = { operation: 'listen', verb: AQ.LISTEN, qspace, qname: '', members, items, signal };
    const { members: found } = await this.ask(asked);
    return {
      name: String(found['name'] ?? ''),
      address: String(found['address'] ?? ''),
      deliveryMode: Number(found['messageDeliveryMode'] ?? 0),
    };
  }
}

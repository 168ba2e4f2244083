// DBMS_AQADM in the words of TypeScript [oracle-aq 5]. Every call is durable when it resolves, and belongs to no transaction. A parameter that is
// not given has AQ's default.
import { AQ } from '../../../proto/aq/verbs.ts';
import type { Members, MemberValue } from '../../../proto/message.ts';
import type { AskAq } from './aq.ts';
import { agentOf, type AqAgentLike } from './message.ts';

export interface QueueTableOptions {
  /** RAW, JSON, or the name of an object type. */
  readonly payloadType: string;
  /** PRIORITY, ENQ_TIME, COMMIT_TIME, or two of them. */
  readonly sortList?: string;
  readonly multipleConsumers?: boolean;
  readonly messageGrouping?: number;
  readonly compatible?: string;
  readonly comment?: string;
}

export interface AqQueueOptions {
  readonly maxRetries?: number;
  /** Seconds. */
  readonly retryDelay?: number;
  /** Seconds, or DBMS_AQADM.INFINITE. */
  readonly retentionTime?: number;
  readonly comment?: string;
}

interface SideOptions {
  readonly enqueue?: boolean;
  readonly dequeue?: boolean;
}

export interface SubscriberOptions {
  /** A condition over the properties and the payload. */
  readonly rule?: string;
  readonly deliveryMode?: number;
}

interface SubscriberInfo extends Required<SubscriberOptions> {
  readonly name: string;
  readonly address: string;
  readonly protocol: number;
  readonly ready: number;
  readonly waiting: number;
  readonly messages: number;
}

export class AqAdmin {
  private readonly qspace: string;
  private readonly ask: AskAq;

  constructor(qspace: string, ask: AskAq) {
    this.qspace = qspace;
    this.ask = ask;
  }

  /** Makes a queue table and its default exception queue, `AQ$_<name>_E`. */
  async createQueueTable(name: string, options: QueueTableOptions): Promise<void> {
    await this.send(AQ.CREATE_QUEUE_TABLE, name, options);
  }
  /** @param force drops its queues with what is on them too */
  async dropQueueTable(name: string, { force = false }: { readonly force?: boolean } = {}): Promise<void> {
    await this.send(AQ.DROP_QUEUE_TABLE, name, { force });
  }

  /** Makes a queue, which is not started. */
  async createQueue(
    name: string,
    options: AqQueueOptions & { readonly queueTable: string; readonly queueType?: number },
  ): Promise<void> {
    await this.send(AQ.CREATE_QUEUE, name, options);
  }
  async alterQueue(name: string, options: AqQueueOptions): Promise<void> {
    await this.send(AQ.ALTER_QUEUE, name, options);
  }
  /** true starts that direction, false leaves it as it is; of an exception queue `enqueue` has to be false. */
  async startQueue(name: string, options: SideOptions = {}): Promise<void> {
    await this.send(AQ.START_QUEUE, name, options);
  }
  /** @param options wait: resolve when the transactions on the queue are over (default); false: refuse when there are any */
  async stopQueue(name: string, options: SideOptions & { readonly wait?: boolean } = {}): Promise<void> {
    await this.send(AQ.STOP_QUEUE, name, options);
  }
  async dropQueue(name: string): Promise<void> {
    await this.send(AQ.DROP_QUEUE, name, {});
  }

  async addSubscriber(queue: string, agent: AqAgentLike, options: SubscriberOptions = {}): Promise<void> {
    await this.send(AQ.ADD_SUBSCRIBER, queue, { ...agentOf(agent), ...options });
  }
  /** Replaces the rule; none given: every message. */
  async alterSubscriber(
    queue: string,
    agent: AqAgentLike,
    options: Pick<SubscriberOptions, 'rule'> = {},
  ): Promise<void> {
    await this.send(AQ.ALTER_SUBSCRIBER, queue, { ...agentOf(agent), ...options });
  }
  async removeSubscriber(queue: string, agent: AqAgentLike): Promise<void> {
    await this.send(AQ.REMOVE_SUBSCRIBER, queue, agentOf(agent));
  }
  /** The subscribers of a queue, with what each has. */
  async queueSubscribers(queue: string): Promise<SubscriberInfo[]> {
    const { items } = await this.send(AQ.QUEUE_SUBSCRIBERS, queue, {});
    return items.map(({ members }) => {
      const text = (name: string): string => String(members[name] ?? '');
      const number = (name: string): number => Number(members[name] ?? 0);
      return {
        name: text('name'),
        address: text('address'),
        protocol: number('protocol'),
        rule: text('rule'),
        deliveryMode: number('deliveryMode'),
        ready: number('ready'),
        waiting: number('waiting'),
        messages: number('messages'),
      };
    });
  }

  private send(verb: number, qname: string, given: object): ReturnType<AskAq> {
    const members: Record<string, MemberValue> = {};
    for (const [name, value] of Object.entries(given) as [string, Members[string] | undefined][])
      if (value !== undefined) members[name] = value;
    return this.ask({ operation: 'aqadm', verb, qspace: this.qspace, qname, members, items: [] });
  }
}

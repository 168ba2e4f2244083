// What the daemon itself says about a queue space.
import { OP } from '../../../proto/codes.ts';
import type { LeanConnection } from './connection.ts';

export class QueueStatus {
  private readonly connection: LeanConnection;
  private readonly task: { qspace: string; qname: string };

  constructor(connection: LeanConnection, task: { qspace: string; qname: string }) {
    this.connection = connection;
    this.task = task;
  }

  /** Batches of the space's log so far: one sync each. */
  async batches(): Promise<number> {
    return (await this.space()).batches;
  }

  async messages(qname: string = this.task.qname): Promise<number> {
    const queue = (await this.space()).queues.find(({ name }) => name === qname);
    if (queue === undefined) throw new Error(`the daemon does not list the queue ${qname}`);
    return queue.messages;
  }

  private async space() {
    const { qspace } = this.task;
    const reply = await this.connection.ask((id) => ({ op: OP.STAT, id, qspace }));
    const space = reply.op === OP.STAT ? reply.stat.spaces[0] : undefined;
    if (space === undefined) throw new Error(`the daemon gives no statistics of ${qspace}`);
    return space;
  }
}

// Where each client stands on each queue that it dequeues from [oracle-aq 4.4]. It ends with the connection.
import { AqSession } from '../engine/aq/session.ts';
import type { Client } from '../atmi/client.ts';
import type { Queue } from '../queue/queue.ts';
import type { AqAsked } from './asked.ts';

export class Sessions {
  private readonly ofClients = new WeakMap<Client, Map<string, AqSession>>();

  of({ client, space }: AqAsked, queue: Queue): AqSession {
    let own = this.ofClients.get(client);
    if (own === undefined) this.ofClients.set(client, (own = new Map()));
    const key = `${space.engine.space.spaceId}.${queue.number}`;
    let session = own.get(key);
    if (session === undefined) own.set(key, (session = new AqSession()));
    return session;
  }
}

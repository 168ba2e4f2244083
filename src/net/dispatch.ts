// From a typed request to the role that answers it. One line per opcode; nothing is decided here.
import { JOINED_TX, OP } from '../../proto/codes.ts';
import type { AqRequest } from '../../proto/aq/message.ts';
import type { Admin, Hello, Request, Stat } from '../../proto/message.ts';
import type { Client, ClientIdentity } from '../atmi/client.ts';
import type { AtmiRequests } from '../atmi/requests.ts';
import type { UnsolicitedMessages } from '../atmi/unsolicited.ts';
import type { QueueRequests } from '../tmqueue/requests.ts';
import type { ConnectionLimits, Dispatcher } from './connection.ts';

export interface Roles {
  readonly queues: QueueRequests;
  readonly atmi: AtmiRequests;
  readonly unsolicited: UnsolicitedMessages;
  stat(client: Client, request: Stat): void;
  admin(client: Client, request: Admin): void;
  aq(client: Client, request: AqRequest): void;
}

/** Requests that nothing holds up: what they are about was sent by the daemon, or is waiting itself. */
const OVERTAKING: ReadonlySet<number> = new Set([OP.CANCEL, OP.ACK]);
/** The application key of a client that was not authenticated [spec 3.1]. */
const NO_APPKEY = -1;
/** First half of every CLIENTID of a start, random; the second counts. */
export const CLIENT_PREFIX_BYTES = 8;

export class RequestDispatcher implements Dispatcher {
  readonly limits: ConnectionLimits;
  readonly product: string;
  private readonly roles: Roles;
  private readonly prefix: Uint8Array;
  private clients = 0;

  constructor(roles: Roles, limits: ConnectionLimits, start: { product: string; prefix: Uint8Array }) {
    this.roles = roles;
    this.limits = limits;
    this.product = start.product;
    this.prefix = start.prefix;
  }

  identify(hello: Hello): ClientIdentity {
    this.clients++;
    const cltid = Buffer.alloc(16);
    cltid.set(this.prefix);
    cltid.writeUIntBE(this.clients, 10, 6);
    const { usrname, cltname, grpname } = hello;
    return { cltid, usrname, cltname, grpname, appkey: NO_APPKEY };
  }

  joined(client: Client, hello: Hello): void {
    this.roles.unsolicited.joined(client, hello.flags);
  }

  /** Requests of one client are handled in the order of arrival; behind one that waits for room they wait too, but for a few. */
  handle(client: Client, request: Request): void {
    if (!client.isBlocked || overtakes(client, request)) return this.perform(client, request);
    client.onUnblocked = () => this.catchUp(client);
    client.backlog.push(request);
    return undefined;
  }

  private catchUp(client: Client): void {
    while (!client.isBlocked && !client.gone) {
      const request = client.backlog.shift();
      if (request === undefined) return;
      this.perform(client, request);
    }
  }

  private perform(client: Client, request: Request): void {
    const { queues, atmi, unsolicited } = this.roles;
    switch (request.op) {
      case OP.ENQUEUE:
        return queues.enqueue(client, request);
      case OP.DEQUEUE:
        return queues.dequeue(client, request);
      case OP.BIND:
        return queues.bind(client, request);
      case OP.BEGIN:
        return atmi.begin(client, request);
      case OP.COMMIT:
      case OP.COMMITAT:
        return atmi.commit(client, request);
      case OP.ABORT:
        return atmi.abort(client, request);
      case OP.SUSPEND:
        return atmi.suspend(client, request);
      case OP.RESUME:
        return atmi.resume(client, request);
      case OP.OUTCOME:
        return atmi.outcome(client, request);
      case OP.CANCEL:
        return atmi.cancel(client, request);
      case OP.CALL:
      case OP.PRIOCALL:
        return atmi.call(client, request);
      case OP.ADVERTISE:
        return atmi.advertise(client, request);
      case OP.UNADVERTISE:
        return atmi.unadvertise(client, request);
      case OP.RETURN:
        return atmi.returned(client, request);
      case OP.FORWARD:
        return atmi.forward(client, request);
      case OP.NOTIFY:
        return unsolicited.notify(client, request);
      case OP.BROADCAST:
        return unsolicited.broadcast(client, request);
      case OP.ACK:
        return unsolicited.acknowledged(client, request);
      case OP.STAT:
        return this.roles.stat(client, request);
      case OP.ADMIN:
        return this.roles.admin(client, request);
      case OP.AQ:
        return this.roles.aq(client, request);
      case OP.HELLO:
      case OP.GOODBYE:
      case OP.PING:
        // The connection answers these itself.
        return undefined;
    }
  }

  gone(client: Client): void {
    this.roles.atmi.clientGone(client);
    this.roles.unsolicited.gone(client);
  }
}

/** The end of a call in a transaction comes after what its service did in it. */
function overtakes(client: Client, { op, id }: Request): boolean {
  if (op !== OP.RETURN && op !== OP.FORWARD) return OVERTAKING.has(op);
  return !client.joined.has(id + JOINED_TX);
}

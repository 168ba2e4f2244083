// The ledger's calls on an engine in this process: requests as net would hand them to the roles, answers by request id. When the process
// "dies" nothing that it still says is heard, and every call that was not answered fails as it does for a client whose connection broke.
import { OP, QME, TPERRNO, TPQ } from '../../proto/codes.ts';
import type { Members, Reply, Request } from '../../proto/message.ts';
import { emptyQctl } from '../../proto/qctl.ts';
import { Client } from '../../src/atmi/client.ts';
import type { ReplyPort } from '../../src/atmi/reply-port.ts';
import type { Dispatcher } from '../../src/net/connection.ts';
import { CallFailure, type Calls, type TransactionCalls } from '../crash/calls.ts';

export const QSPACE = 'QSPACE';

interface Waiting {
  /** What it means that no answer came. */
  readonly lost: 'refused' | 'unknown';
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: CallFailure) => void;
}

/** One client. */
export class EngineClient implements Calls, ReplyPort {
  private readonly dispatcher: Pick<Dispatcher, 'handle'>;
  private readonly client: Client;
  private readonly waiting = new Map<number, Waiting>();
  private readonly turn: () => Promise<void>;
  private lastId = 0;
  private dead = false;

  /** `turn` lets the others go on; asked for when a queue is empty. */
  constructor(dispatcher: Pick<Dispatcher, 'handle'>, turn: () => Promise<void>) {
    this.dispatcher = dispatcher;
    this.turn = turn;
    this.client = new Client(
      { cltid: new Uint8Array(16), usrname: '', cltname: '', grpname: '', appkey: -1 },
      this,
    );
  }

  /** Whether a take waits for a message (TPQWAIT). */
  waits = false;

  send(reply: Reply): void {
    const call = this.waiting.get(reply.id);
    if (this.dead || call === undefined) return;
    this.waiting.delete(reply.id);
    if (reply.op !== OP.ERROR) return call.resolve(reply);
    // QMESYSTEM, and TPESYSTEM of a commit: nobody knows before the next start. Anything else is a refusal.
    const unknown = reply.diagnostic === QME.QMESYSTEM || reply.tperrno === TPERRNO.TPESYSTEM;
    const error = new Error(`tperrno ${reply.tperrno}, diagnostic ${reply.diagnostic}: ${reply.message}`);
    if (reply.diagnostic === QME.QMENOMSG) error.name = NO_MESSAGE;
    return call.reject(new CallFailure(unknown ? 'unknown' : 'refused', unknown, error));
  }

  /** The process is gone. */
  lose(): void {
    this.dead = true;
    const calls = [...this.waiting.values()];
    this.waiting.clear();
    for (const { lost, reject } of calls) reject(new CallFailure(lost, true, 'the process is gone'));
  }

  put(queue: string, body: Uint8Array): Promise<void> {
    return this.putIn(0, queue, body);
  }

  take(queue: string): Promise<unknown> {
    return this.takeIn(0, queue);
  }

  /** One request of ADMIN; the members of its answer. */
  async admin(verb: number, qname: string, members: Members = {}): Promise<Members> {
    const reply = await this.ask('unknown', (id) => ({
      op: OP.ADMIN,
      id,
      verb,
      qspace: QSPACE,
      qname,
      members,
    }));
    return reply.op === OP.ADMIN ? reply.members : {};
  }

  async begin(): Promise<TransactionCalls> {
    const reply = await this.ask('refused', (id) => ({ op: OP.BEGIN, id, timeoutS: 0 }));
    if (reply.op !== OP.BEGIN) throw new Error('BEGIN was answered with something else');
    const { tx } = reply;
    return {
      put: (queue, body) => this.putIn(tx, queue, body),
      take: (queue) => this.takeIn(tx, queue),
      commit: async () => void (await this.ask('unknown', (id) => ({ op: OP.COMMIT, id, tx }))),
      abort: async () => void (await this.ask('refused', (id) => ({ op: OP.ABORT, id, tx }))),
    };
  }

  private async putIn(tx: number, qname: string, data: Uint8Array): Promise<void> {
    const body = { type: 'CARRAY', subtype: '', data };
    const queue = { qspace: QSPACE, qname };
    const lost = tx === 0 ? 'unknown' : 'refused';
    await this.ask(lost, (id) => ({ op: OP.ENQUEUE, id, queue, ctl: null, body, flags: 0, tx }));
  }

  private async takeIn(tx: number, qname: string): Promise<unknown> {
    const queue = { qspace: QSPACE, qname };
    const ctl = emptyQctl(this.waits ? TPQ.TPQWAIT : 0);
    const rest = { type: '', subtype: '', flags: 0, tx, waitMs: 0 };
    try {
      const lost = tx === 0 ? 'unknown' : 'refused';
      const reply = await this.ask(lost, (id) => ({ op: OP.DEQUEUE, id, queue, ctl, ...rest }));
      return reply.op === OP.DEQUEUE ? reply.body.data : 'no answer to a dequeue';
    } catch (error) {
      if (!isEmpty(error)) throw error;
      await this.turn();
      return null;
    }
  }

  private ask(lost: Waiting['lost'], request: (id: number) => Request): Promise<Reply> {
    this.lastId++;
    const id = this.lastId;
    return new Promise((resolve, reject) => {
      if (this.dead) return reject(new CallFailure('refused', true, 'the process is gone'));
      this.waiting.set(id, { lost, resolve, reject });
      return this.dispatcher.handle(this.client, request(id));
    });
  }
}

const NO_MESSAGE = 'QMENOMSG';

function isEmpty(error: unknown): boolean {
  return error instanceof CallFailure && error.cause instanceof Error && error.cause.name === NO_MESSAGE;
}

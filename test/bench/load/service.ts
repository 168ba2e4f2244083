// A service that answers at once with the data that it was given: the load of W10 on the other side of the forwarders.
import { OP, RVAL } from '../../../proto/codes.ts';
import type { Frame } from '../../../proto/frame.ts';
import type { Return } from '../../../proto/message.ts';
import { decodeReply } from '../../../proto/reply.ts';
import { encodeRequest } from '../../../proto/request.ts';
import { describe, LeanConnection, type Answers } from './connection.ts';

export class EchoService implements Answers {
  private readonly connection: LeanConnection;

  private constructor(connection: LeanConnection) {
    this.connection = connection;
    connection.answers = this;
  }

  static async advertise(port: number, { service, concurrency }: { service: string; concurrency: number }) {
    const connection = await LeanConnection.open(port);
    const echo = new EchoService(connection);
    const reply = await connection.ask((id) => ({ op: OP.ADVERTISE, id, service, concurrency }));
    if (reply.op !== OP.ADVERTISE) throw new Error(`${service} cannot be advertised: ${describe(reply)}`);
    return echo;
  }

  close(): void {
    this.connection.close();
  }

  answered(frame: Frame): boolean {
    const request = decodeReply(frame);
    if (request.op !== OP.REQUEST) return false;
    const answer: Return = {
      op: OP.RETURN,
      id: request.id,
      rval: RVAL.TPSUCCESS,
      rcode: 0,
      body: request.body,
    };
    encodeRequest(this.connection.writer, answer);
    return true;
  }
}

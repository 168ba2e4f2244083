// One message is taken in a transaction and rolled back, again and again; several transactions are under way, each a BEGIN and then its
// DEQUEUE and ABORT in one write.
import { OP, QME } from '../../../proto/codes.ts';
import type { Frame } from '../../../proto/frame.ts';
import type { Dequeue } from '../../../proto/message.ts';
import { decodeReply } from '../../../proto/reply.ts';
import { encodeRequest } from '../../../proto/request.ts';
import { describe, LeanConnection } from '../load/connection.ts';
import { slotId, slotOf } from '../load/ids.ts';
import { Seconds } from './seconds.ts';
import type { AbortsTask, DiskAnswer } from './task.ts';

const IN_FLIGHT = 64;
const TIMEOUT_S = 60;

export async function runAborts(task: AbortsTask): Promise<DiskAnswer> {
  const connection = await LeanConnection.open(task.port);
  const queue = await connection.bind(task.qspace, task.qname);
  const aborter = new Aborter(connection, queue, task.aborts);
  const answer = await aborter.run();
  connection.close();
  return answer;
}

class Aborter {
  private readonly connection: LeanConnection;
  private readonly aborts: number;
  private readonly request: Dequeue;
  private readonly seconds = new Seconds();
  private readonly beganAt = new Float64Array(IN_FLIGHT);
  private taken = 0;
  private open = 0;
  private whenDone: () => void = () => {};

  constructor(connection: LeanConnection, queue: number, aborts: number) {
    this.connection = connection;
    this.aborts = aborts;
    this.request = {
      op: OP.DEQUEUE,
      id: 0,
      queue,
      ctl: null,
      type: '',
      subtype: '',
      flags: 0,
      tx: 0,
      waitMs: 0,
    };
    connection.answers = { answered: (frame, nowMs) => this.answered(frame, nowMs) };
  }

  /** Resolves when the message was taken so often and every rollback is durable. */
  async run(): Promise<DiskAnswer> {
    const done = new Promise<void>((resolve) => {
      this.whenDone = resolve;
    });
    for (let slot = 0; slot < IN_FLIGHT; slot++) this.begin(slot, performance.now());
    this.connection.flush();
    await done;
    return this.seconds.stop();
  }

  private begin(slot: number, nowMs: number): void {
    this.open++;
    this.beganAt[slot] = nowMs;
    encodeRequest(this.connection.writer, { op: OP.BEGIN, id: slotId(slot, OP.BEGIN), timeoutS: TIMEOUT_S });
  }

  private answered(frame: Frame, nowMs: number): boolean {
    const reply = decodeReply(frame);
    const slot = slotOf(reply.id);
    if (slot < 0 || slot >= IN_FLIGHT) return false;
    const { writer } = this.connection;
    if (reply.op === OP.BEGIN) {
      this.request.id = slotId(slot, OP.DEQUEUE);
      this.request.tx = reply.tx;
      encodeRequest(writer, this.request);
      encodeRequest(writer, { op: OP.ABORT, id: slotId(slot, OP.ABORT), tx: reply.tx });
    } else if (reply.op === OP.DEQUEUE) {
      this.taken++;
    } else if (reply.op === OP.ABORT) {
      this.ended(slot, nowMs);
    } else if (reply.op !== OP.ERROR || reply.diagnostic !== QME.QMENOMSG) {
      // While another one's rollback reads the message again, it is not to be had.
      throw new Error(`refused: ${describe(reply)}`);
    }
    return true;
  }

  private ended(slot: number, nowMs: number): void {
    this.open--;
    this.seconds.record(nowMs - (this.beganAt[slot] ?? nowMs));
    if (this.taken < this.aborts) this.begin(slot, nowMs);
    else if (this.open === 0) this.whenDone();
  }
}

// Does an answer ever precede its sync? Read from the daemon's system calls, without trusting a word of its own.
//
// An ENQUEUE's answer may leave (its write on the socket may begin) only after an fdatasync returned that began after a write holding that
// message's mark had returned. Messages are told apart by their mark (load/stamp.ts), which is also the request id. For a DEQUEUE,
// whose log record has no mark, one in flight at a time is needed: since the previous answer the log must have been written and synced.
import { OP } from '../../../proto/codes.ts';
import { FrameReader } from '../../../proto/frame.ts';
import type { Malformed, Reply } from '../../../proto/message.ts';
import { decodeReply } from '../../../proto/reply.ts';
import { MARK, NUMBER_AT } from '../load/stamp.ts';
import type { Call, CallSink } from './calls.ts';

const WRITES = new Set(['pwrite64', 'pwritev', 'pwritev2', 'write', 'writev', 'sendto', 'sendmsg']);
const SYNCS = new Set(['fdatasync', 'fsync']);
const FRAME_BYTES_MAX = 512 * 1024 * 1024;
/** Bytes that a mark needs: one may lie across two writes. */
const MARK_BYTES = NUMBER_AT + 4;
const NEVER = Infinity;

interface LogFile {
  /** The end of what was written last. */
  tail: string;
  /** Marks in writes that returned since the last sync began. */
  unsynced: number[];
  /** Line on which the newest write returned. */
  writtenAt: number;
}
interface Sync {
  readonly marks: number[];
  readonly writtenAt: number;
}

export class AnswerCheck implements CallSink {
  syncs = 0;
  enqueues = 0;
  dequeues = 0;
  readonly violations: string[] = [];
  private readonly directory: string;
  private readonly files = new Map<string, LogFile>();
  private readonly running = new Map<Call, Sync>();
  /** Line on which the sync that made a message durable returned. */
  private readonly durableAt = new Map<number, number>();
  /** The newest write that a sync has covered, and when that sync returned. */
  private synced = { writtenAt: 0, endedAt: NEVER };
  private lastDequeue = 0;
  private readonly sockets = new Map<string, FrameReader>();

  /** @param directory what lies below it is the log */
  constructor(directory: string) {
    this.directory = directory;
  }

  begin(call: Call): void {
    if (!SYNCS.has(call.name) || !this.isLog(call)) return;
    const file = this.file(call.target);
    this.running.set(call, { marks: file.unsynced, writtenAt: file.writtenAt });
    file.unsynced = [];
  }

  end(call: Call, ended: number, result: number): void {
    if (result < 0) return;
    if (WRITES.has(call.name)) {
      const data = call.data.slice(0, result);
      // A mark that is cut off the trace is not known to be durable: that can only raise an alarm.
      if (this.isLog(call)) this.written(call.target, data, ended);
      else if (call.target.startsWith('socket:')) this.sent(call, data);
    }
    const sync = this.running.get(call);
    if (sync === undefined) return;
    this.running.delete(call);
    this.syncs++;
    for (const mark of sync.marks) if (!this.durableAt.has(mark)) this.durableAt.set(mark, ended);
    if (sync.writtenAt > this.synced.writtenAt) this.synced = { writtenAt: sync.writtenAt, endedAt: ended };
  }

  private isLog(call: Call): boolean {
    return call.target.startsWith(this.directory);
  }

  private file(path: string): LogFile {
    let file = this.files.get(path);
    if (file === undefined) {
      file = { tail: '', unsynced: [], writtenAt: 0 };
      this.files.set(path, file);
    }
    return file;
  }

  private written(path: string, data: string, ended: number): void {
    const file = this.file(path);
    const text = file.tail + data;
    for (let at = text.indexOf(MARK); at >= 0; at = text.indexOf(MARK, at + 1)) {
      if (at + MARK_BYTES > text.length) break;
      const number = Buffer.from(text.slice(at + NUMBER_AT, at + MARK_BYTES), 'latin1').readUInt32BE();
      file.unsynced.push(number);
    }
    file.tail = text.slice(1 - MARK_BYTES);
    file.writtenAt = ended;
  }

  private sent(call: Call, data: string): void {
    if (call.cut) this.violations.push(`line ${call.began}: the trace of what was sent is cut, raise -s`);
    let reader = this.sockets.get(call.target);
    if (reader === undefined) {
      reader = new FrameReader(FRAME_BYTES_MAX);
      this.sockets.set(call.target, reader);
    }
    reader.push(Buffer.from(data, 'latin1'));
    for (let frame = reader.next(); frame !== null; frame = reader.next())
      this.answered(call, decodeReply(frame));
  }

  private answered(call: Call, reply: Reply | Malformed): void {
    if (reply.op === OP.ENQUEUE) {
      this.enqueues++;
      const durableAt = this.durableAt.get(reply.id) ?? NEVER;
      if (durableAt >= call.began) this.violate(call, `the answer to enqueue ${reply.id}`);
    } else if (reply.op === OP.DEQUEUE) {
      this.dequeues++;
      const { writtenAt, endedAt } = this.synced;
      if (writtenAt <= this.lastDequeue || endedAt >= call.began)
        this.violate(call, `the answer to dequeue ${reply.id}`);
      this.lastDequeue = call.began;
    }
  }

  private violate(call: Call, what: string): void {
    this.violations.push(`line ${call.began}: ${what} leaves before its sync has returned`);
  }
}

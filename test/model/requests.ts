// The model test's values as the engine takes them.
import { TPQ } from '../../proto/codes.ts';
import type { StoredMessage } from '../../src/engine/message-record.ts';
import { DequeueRequest, type Failure, type Held, type Work } from '../../src/engine/request.ts';
import type { GivenTime } from '../../src/queue/command.ts';
import { CLOCK } from '../../src/queue/event.ts';
import type { MessageProperties } from '../../src/queue/message.ts';
import { corrid, properties } from '../support/queue-values.ts';
import type { ManualClock } from '../support/manual-clock.ts';
import { codeName, type Enqueue, type Letter, type When } from './commands.ts';
import type { Request } from './state.ts';

/** Something that may be heard when it is released. */
export class Probe implements Held {
  state: 'held' | 'released' | 'failed' = 'held';
  /** The append that must be durable then, by the model; and the last that was. */
  needs = 0;
  durable = 0;
  readonly what: string;
  private readonly lastDurable: () => number;
  constructor(what: string, lastDurable: () => number) {
    this.what = what;
    this.lastDurable = lastDurable;
  }
  released(): void {
    this.state = 'released';
    this.durable = this.lastDurable();
  }
  failed(): void {
    this.state = 'failed';
  }
}

export class SystemRequest extends DequeueRequest {
  readonly request: Request;
  readonly qname: string;
  readonly selection: { readonly msgid: Uint8Array | null; readonly corrid: Uint8Array | null };
  readonly work: Work | null;
  readonly peek: boolean;
  readonly wait: boolean;
  readonly deadlineMs: number;
  readonly timeoutFailure: Failure;
  message: StoredMessage | null = null;
  code: Failure | null = null;
  probe: Probe | null = null;
  private readonly answered: (request: SystemRequest, batch: number) => void;

  constructor(
    request: Request,
    by: {
      work: Work | null;
      timeoutFailure: Failure;
      answered: (request: SystemRequest, batch: number) => void;
    },
  ) {
    super();
    this.request = request;
    this.qname = request.queue;
    this.selection = {
      msgid: request.msgid === null ? null : Buffer.from(request.msgid),
      corrid: request.corrid === 0 ? null : corrid(request.corrid),
    };
    this.work = by.work;
    this.peek = request.peek;
    this.wait = request.wait;
    this.deadlineMs = request.deadline;
    this.timeoutFailure = by.timeoutFailure;
    this.answered = by.answered;
  }
  accepts(type: string): boolean {
    return this.request.only === null || this.request.only === type;
  }
  taken(message: StoredMessage, batch: number): void {
    this.message = message;
    this.end(0, batch);
  }
  refused(failure: Failure, batch: number): void {
    this.end(failure, batch);
  }
  private end(code: Failure, batch: number): void {
    if (this.code !== null) throw new Error(`request ${this.request.number} is answered twice`);
    this.code = code;
    this.answered(this, batch);
  }
}

export function propertiesOf(letter: Letter, label: number): MessageProperties {
  return properties({
    flags:
      given(letter.priority !== null, TPQ.TPQPRIORITY) |
      given(letter.corrid !== 0, TPQ.TPQCORRID) |
      given(letter.replyqueue !== '', TPQ.TPQREPLYQ) |
      given(letter.failurequeue !== '', TPQ.TPQFAILUREQ) |
      given(letter.deliveryQos !== 0, TPQ.TPQDELIVERYQOS) |
      given(letter.replyQos !== 0, TPQ.TPQREPLYQOS),
    priority: letter.priority ?? 50,
    corrid: letter.corrid === 0 ? null : corrid(letter.corrid),
    replyqueue: letter.replyqueue,
    failurequeue: letter.failurequeue,
    deliveryQos: letter.deliveryQos,
    replyQos: letter.replyQos,
    type: letter.type,
    cltid: new Uint8Array(16).fill(label % 251),
    appkey: label % 7,
    urcode: label,
  });
}

function given(is: boolean, flag: number): number {
  return is ? flag : 0;
}

/** null: it has none. */
export function dataOf({ type, bytes }: Letter, label: number): Uint8Array | null {
  return type === '' ? null : new Uint8Array(bytes).fill(label % 256);
}

/** As the client gives it: seconds since 1970 or from now; the wall clock's rounded down to seconds. */
export function givenTime(clock: ManualClock, when: When | null): GivenTime | null {
  if (when === null) return null;
  if (when.clock === 'space') return { clock: CLOCK.SPACE, seconds: when.seconds };
  return { clock: CLOCK.WALL, seconds: Math.floor(clock.wallMs() / 1000) + when.seconds };
}

/** Its kind and what came of it, for the tally. */
export function outcomeOf({ request, code }: SystemRequest, isLater: boolean): string {
  const words = [request.peek ? 'peek' : 'dequeue'];
  if (request.wait) words.push('wait');
  if (request.tx !== null) words.push('in tx');
  if (request.msgid !== null) words.push('msgid');
  if (request.corrid !== 0) words.push('corrid');
  if (isLater) words.push('later');
  return `${words.join(' ')}: ${codeName(code ?? 1)}`;
}

export function enqueueOutcome({ position, tx }: Enqueue, code: number): string {
  const where = position === null || position === 'top' ? String(position) : `before ${position.of}`;
  return `enqueue ${where}${tx === 0 ? '' : ' in tx'}: ${codeName(code)}`;
}

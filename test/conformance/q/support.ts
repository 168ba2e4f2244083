// What the conformance tests of /Q share: a UBBCONFIG with every word of *QSPACES and *QUEUES, calls on a queue in one space, and short
// ways to say what a call ended with. Queues are told apart by name, so that one daemon serves a file's tests.
import {
  type Context,
  type DequeueExtras,
  QME,
  type Received,
  TpError,
  TPFLAG,
  TPQ,
  TPQCTL,
  type Transaction,
} from '../../../clients/typescript/index.ts';
import { nameOf } from '../../integration/helpers.ts';
import { eventually, type InProcess } from '../../support/in-process.ts';

export interface QueueWords {
  readonly name: string;
  readonly order?: string;
  readonly outOfOrder?: string;
  readonly retries?: number;
  /** Seconds. */
  readonly delay?: number;
  readonly policy?: 'persist' | 'nonpersist';
  readonly expiry?: number | 'none';
  readonly high?: string;
  readonly low?: string;
  readonly cmd?: string;
  /** More words, such as those of a second threshold. */
  readonly more?: string;
}

export interface SpaceWords {
  /** Default QSPACE; also its alias. */
  readonly name?: string;
  /** Such as `MSGS=3 PAGES=10`. */
  readonly words?: string;
  /** TMQUEUE -t, seconds; default 3000, so that only a test that is about it meets it. */
  readonly timeoutS?: number;
  readonly forwarders?: readonly string[];
  readonly queues: readonly (string | QueueWords)[];
}

export const SPACE = 'QSPACE';
/** The seven bits that a dequeue may return [spec 1.4]. */
export const OUTPUTS =
  TPQ.TPQPRIORITY |
  TPQ.TPQMSGID |
  TPQ.TPQCORRID |
  TPQ.TPQDELIVERYQOS |
  TPQ.TPQREPLYQOS |
  TPQ.TPQREPLYQ |
  TPQ.TPQFAILUREQ;

/** The configuration of one domain with these spaces. */
export function domain(spaces: readonly SpaceWords[], resources = ''): string {
  return [
    `*RESOURCES\nIPCKEY 52617\nMASTER SITE1\nMODEL SHM\nMAXGTT 100\n${resources}`,
    '*MACHINES\n"localhost" LMID=SITE1 APPDIR="."',
    '*GROUPS',
    ...spaces.map(
      (space, i) =>
        `G${i + 1} LMID=SITE1 GRPNO=${i + 1} TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:data${i + 1}:${nameIn(space)}"`,
    ),
    '*SERVERS',
    ...spaces.map((space, i) => serversOf(space, `G${i + 1}`)),
    '*QSPACES',
    ...spaces.map((space, i) => `${nameIn(space)} SRVGRP=G${i + 1} ${space.words ?? ''}`),
    '*QUEUES',
    ...spaces.flatMap((space) => space.queues.map((queue) => queueLine(nameIn(space), queue))),
    '',
  ].join('\n');
}

/** `count` queues of the same words, and a way to take one after the other. */
export function pool(words: QueueWords, count: number): { queues: QueueWords[]; next: () => string } {
  const queues = Array.from({ length: count }, (_, i) => ({ ...words, name: `${words.name}${i + 1}` }));
  let used = 0;
  const next = (): string => {
    const queue = queues[used++];
    if (queue === undefined) throw new Error(`more than ${count} queues ${words.name}`);
    return queue.name;
  };
  return { queues, next };
}

export type Calls = Context | Transaction;
export type Members = Partial<TPQCTL>;

export function ctlOf(flags: number, members: Members = {}): TPQCTL {
  return new TPQCTL({ ...members, flags });
}

/** Puts one message; its msgid. */
export async function send(
  calls: Calls,
  queue: string,
  data: unknown,
  members: Members = {},
): Promise<Buffer> {
  return sendTo(calls, SPACE, queue, data, members);
}

export async function sendTo(
  calls: Calls,
  qspace: string,
  queue: string,
  data: unknown,
  members: Members = {},
): Promise<Buffer> {
  const ctl = ctlOf((members.flags ?? 0) | TPQ.TPQMSGID, members);
  await calls.tpenqueue(qspace, queue, ctl, data);
  if (ctl.msgid === null || ctl.msgid.length !== 32) throw new Error('no msgid');
  return Buffer.from(ctl.msgid);
}

/** What an enqueue ends with: OK or the name of its code. */
export function sendCode(
  calls: Calls,
  queue: string,
  members: Members = {},
  more: { qspace?: string; data?: unknown; flags?: number } = {},
): Promise<string> {
  const { qspace = SPACE, data = 'x', flags = 0 } = more;
  return code(calls.tpenqueue(qspace, queue, ctlOf(members.flags ?? 0, members), data, flags));
}

export interface TakeOptions {
  readonly qspace?: string;
  readonly flags?: number;
  readonly extras?: DequeueExtras;
}

export function take(
  calls: Calls,
  queue: string,
  ctl: TPQCTL | null = null,
  options: TakeOptions = {},
): Promise<Received> {
  return calls.tpdequeue(options.qspace ?? SPACE, queue, ctl, null, options.flags ?? 0, options.extras ?? {});
}

/** What a dequeue ends with: its data, or the name of its code. */
export async function got(
  calls: Calls,
  queue: string,
  members: Members = {},
  options: TakeOptions = {},
): Promise<unknown> {
  return outcome(take(calls, queue, ctlOf(members.flags ?? 0, members), options));
}

/** A dequeue that waits without the client's blocking time. */
export function wait(
  calls: Calls,
  queue: string,
  members: Members = {},
  options: TakeOptions = {},
): Promise<unknown> {
  const flags = (members.flags ?? 0) | TPQ.TPQWAIT;
  return got(calls, queue, { ...members, flags }, { flags: TPFLAG.TPNOTIME, ...options });
}

/** The data of everything that can be taken now, in order. */
export async function drain(calls: Calls, queue: string, qspace = SPACE): Promise<unknown[]> {
  const all: unknown[] = [];
  for (;;) {
    try {
      all.push((await take(calls, queue, null, { qspace })).data);
    } catch (error) {
      if (TpError.is(error) && error.diagnostic === QME.QMENOMSG) return all;
      throw error;
    }
  }
}

/** OK, or the name of the code that a call fails with (the diagnostic's when there is one). */
export async function code(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'OK';
  } catch (error) {
    return nameOf(error);
  }
}

export async function outcome(call: Promise<{ data: unknown }>): Promise<unknown> {
  try {
    return (await call).data;
  } catch (error) {
    return nameOf(error);
  }
}

/** Dequeues in a transaction and rolls back; the data. */
export async function attempt(context: Context, queue: string, qspace = SPACE): Promise<unknown> {
  await context.tpbegin(600);
  try {
    return await got(context, queue, {}, { qspace });
  } finally {
    await context.tpabort();
  }
}

/** Waits until so many dequeues wait on a queue. */
export async function parked(daemon: InProcess, queue: string, count: number, qspace = SPACE): Promise<void> {
  await eventually(async () => (await daemon.queue(queue, qspace)).waiters === count);
}

/** Waits until a queue holds so many messages. */
export async function holds(daemon: InProcess, queue: string, count: number, qspace = SPACE): Promise<void> {
  await eventually(async () => (await daemon.queue(queue, qspace)).messages === count);
}

/** A whole second of the daemon's wall clock, so many seconds from now. */
export function wallS(daemon: InProcess, fromNowS = 0): number {
  return Math.floor(daemon.clock.wallMs() / 1000) + fromNowS;
}

/** 32 bytes that end in `last`. */
export function id32(last: number, fill = 0): Buffer {
  const bytes = Buffer.alloc(32, fill);
  bytes[31] = last;
  return bytes;
}

export function hex(bytes: Uint8Array | string | null): string {
  return bytes === null ? '' : Buffer.from(bytes).toString('hex');
}

function nameIn(space: SpaceWords): string {
  return space.name ?? SPACE;
}

function serversOf(space: SpaceWords, group: string): string {
  const { timeoutS = 3000, forwarders = [] } = space;
  return [
    `TMQUEUE SRVGRP=${group} SRVID=1 CLOPT="-s ${nameIn(space)}:TMQUEUE -- -t ${timeoutS}"`,
    ...forwarders.map(
      (words, i) => `TMQFORWARD SRVGRP=${group} SRVID=${100 + i} REPLYQ=N CLOPT="-- ${words}"`,
    ),
  ].join('\n');
}

function queueLine(space: string, queue: string | QueueWords): string {
  const words: QueueWords = typeof queue === 'string' ? { name: queue } : queue;
  const { order = 'fifo', outOfOrder = 'none', retries = 0, delay = 0, policy = 'persist' } = words;
  const { expiry = 'none', high = '100%', low = '0%', cmd = '', more = '' } = words;
  return [
    `"${words.name}" QSPACE=${space} ORDER="${order}" OUTOFORDER="${outOfOrder}" RETRIES=${retries}`,
    `DELAY=${delay} POLICY=${policy} EXPIRY="${expiry}" HIGH="${high}" LOW="${low}" CMD="${cmd}" ${more}`,
  ].join(' ');
}

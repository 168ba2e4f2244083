// Short words that the tests of this folder share: the code that a call ends with, control structures, putting and draining.
import {
  type Context,
  QME,
  qmeName,
  type Received,
  type ServiceCall,
  TpError,
  TPERRNO,
  tperrnoName,
  TPQ,
  TPQCTL,
  type Transaction,
} from '../../clients/typescript/index.ts';
import { eventually, type InProcess } from '../support/in-process.ts';
import { queueNames } from '../support/ubb-text.ts';

export type Calls = Context | Transaction | ServiceCall;

/** Everything that a dequeue can be asked to return. */
export const OUTPUTS = TPQ.TPQMSGID | TPQ.TPQCORRID | TPQ.TPQPRIORITY | TPQ.TPQREPLYQ | TPQ.TPQFAILUREQ;

export const SPACE = 'QSPACE';

/** The name of the code that a call fails with (the diagnostic's when there is one), or OK. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'OK';
  } catch (error) {
    return nameOf(error);
  }
}

/** The TpError of a call that must fail. */
export async function failureOf(call: Promise<unknown>): Promise<TpError> {
  try {
    await call;
  } catch (error) {
    if (TpError.is(error)) return error;
    throw error;
  }
  throw new Error('the call succeeded');
}

export function nameOf(error: unknown): string {
  if (!TpError.is(error)) throw error;
  return error.tperrno === TPERRNO.TPEDIAGNOSTIC ? qmeName(error.diagnostic) : tperrnoName(error.tperrno);
}

export function ctlOf(flags: number, members: Partial<TPQCTL> = {}): TPQCTL {
  return new TPQCTL({ ...members, flags });
}

/** Hands out the names of a pool, one a test. */
export function fresh(stem: string, count: number): { names: string[]; next: () => string } {
  const names = queueNames(stem, count);
  let used = 0;
  const next = (): string => {
    const name = names[used++];
    if (name === undefined) throw new Error(`more than ${count} queues ${stem}`);
    return name;
  };
  return { names, next };
}

export async function put(calls: Calls, queue: string, ...data: unknown[]): Promise<void> {
  for (const one of data) await calls.tpenqueue(SPACE, queue, null, one);
}

/** Puts one message; its msgid. */
export async function putId(
  calls: Calls,
  queue: string,
  data: unknown,
  members: Partial<TPQCTL> = {},
): Promise<Uint8Array> {
  const ctl = ctlOf((members.flags ?? 0) | TPQ.TPQMSGID, without(members));
  await calls.tpenqueue(SPACE, queue, ctl, data);
  if (ctl.msgid === null) throw new Error('no msgid');
  return ctl.msgid;
}

export function take(calls: Calls, queue: string, ctl: TPQCTL | null = null, flags = 0): Promise<Received> {
  return calls.tpdequeue(SPACE, queue, ctl, null, flags);
}

/** The data of everything that can be taken now, in order. */
export async function drain(calls: Calls, queue: string): Promise<unknown[]> {
  const all: unknown[] = [];
  for (;;) {
    try {
      all.push((await take(calls, queue)).data);
    } catch (error) {
      if (TpError.is(error) && error.diagnostic === QME.QMENOMSG) return all;
      throw error;
    }
  }
}

/** A promise and what resolves it. */
export function gate<T = void>(): { readonly opened: Promise<T>; readonly open: (value: T) => void } {
  const opens: ((value: T) => void)[] = [];
  const opened = new Promise<T>((resolve) => opens.push(resolve));
  return { opened, open: (value) => opens[0]?.(value) };
}

/** What is on a queue without taking it: the data of the first message, or undefined. */
export async function peek(calls: Calls, queue: string): Promise<unknown> {
  try {
    return (await take(calls, queue, ctlOf(TPQ.TPQPEEK))).data;
  } catch (error) {
    if (TpError.is(error) && error.diagnostic === QME.QMENOMSG) return undefined;
    throw error;
  }
}

/** A corrid of 32 bytes that ends in `last`. */
export function corridOf(last: number, fill = 0): Buffer {
  const corrid = Buffer.alloc(32, fill);
  corrid[31] = last;
  return corrid;
}

function without(members: Partial<TPQCTL>): Partial<TPQCTL> {
  const { flags: _flags, ...rest } = members;
  return rest;
}

/** A service that answers when told to. */
export class Gate {
  readonly waiting: { call: ServiceCall; answer: (value: unknown) => void }[] = [];
  readonly service = (call: ServiceCall): Promise<unknown> =>
    new Promise((answer) => {
      this.waiting.push({ call, answer });
    });
  async calls(count: number): Promise<void> {
    await eventually(() => this.waiting.length >= count);
  }
  release(value: unknown = 'done'): void {
    for (const { answer } of this.waiting.splice(0)) answer(value);
  }
}

/** What a waiting dequeue ends with: its data, or the name of its code. */
export async function outcome(waiting: Promise<{ data: unknown }>): Promise<unknown> {
  const code = await codeOf(waiting);
  return code === 'OK' ? (await waiting).data : code;
}

/** A dequeue with TPQWAIT; what it ends with. */
export function wait(calls: Calls, queue: string, ctl: TPQCTL = ctlOf(TPQ.TPQWAIT)): Promise<unknown> {
  return outcome(take(calls, queue, ctl));
}

/** Waits until so many dequeues wait on a queue. */
export async function waitersOf(daemon: InProcess, queue: string, count: number): Promise<void> {
  await eventually(async () => (await daemon.queue(queue)).waiters === count);
}

// What the engine says and what the model says, compared.
import type { StoredMessage } from '../../src/engine/message-record.ts';
import type { SpaceEngine } from '../../src/engine/space-engine.ts';
import { codeName } from './commands.ts';
import type { Model } from './model.ts';
import { dataOf, propertiesOf, type SystemRequest } from './requests.ts';
import { measure } from './rules.ts';
import type { Answer, Message, ModelQueue } from './state.ts';

export function same(what: string, got: unknown, want: unknown): void {
  if (got === want) return;
  const [a, b] = [text(got), text(want)];
  if (a !== b) throw new Error(`${what}\n  engine: ${a}\n  model:  ${b}`);
}

function text(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : JSON.stringify(value);
}

/** Who was answered, with what; those who got messages of one queue in which order. */
export function compareAnswers(
  got: readonly SystemRequest[],
  want: readonly Answer[],
  msgidOf: (request: SystemRequest, message: Message) => void,
): void {
  const byNumber = new Map(want.map((answer) => [answer.request.number, answer]));
  for (const one of got) {
    const { number } = one.request;
    const expected = byNumber.get(number);
    same(`code of dequeue ${number}`, codeName(one.code ?? 1), codeName(expected?.code ?? 1));
    if (expected === undefined) throw new Error(`dequeue ${number} was answered and should not have been`);
    if (one.probe !== null) one.probe.needs = expected.needs;
    if (one.message === null || expected.message === null) continue;
    compareMessage(`message for dequeue ${number}`, one.message, expected.message);
    msgidOf(one, expected.message);
  }
  if (got.length !== want.length) {
    const numbers = want.map((answer) => `${answer.request.number} (${codeName(answer.code)})`);
    throw new Error(`${got.length} dequeues were answered, not ${want.length}: ${numbers.join(', ')}`);
  }
  same('order of answers', takers(got), takers(want));
}

function takers(answers: readonly { readonly request: Answer['request']; readonly message: unknown }[]) {
  const taken = answers.filter((one) => one.message !== null);
  return taken.map(({ request }) => `${request.queue} ${request.number}`).sort(byQueue);
}
/** Stable: of one queue they stay in order. */
function byQueue(a: string, b: string): number {
  return a.charCodeAt(0) - b.charCodeAt(0);
}

function compareMessage(what: string, got: StoredMessage, { label, letter }: Message): void {
  same(what, `#${got.properties.urcode}`, `#${label}`);
  const want = propertiesOf(letter, label);
  for (const key of Object.keys(want) as (keyof typeof want)[])
    same(`${key} of #${label}`, got.properties[key], want[key]);
  same(`data of #${label}`, got.data, dataOf(letter, label));
}

/** What can be counted, of the space and of each queue. */
export function compareState({ space }: SpaceEngine, model: Model): void {
  const used = measure(model.all());
  same('messages of the space', space.usage.messages, used.messages);
  same('pages of the space', space.usage.pages, used.pages);
  same('memory of the space', space.memory.usedBytes, used.memory);
  same('transactions', space.branches.active, model.activeTransactions);
  same('number of queues', space.queueCount, model.queues.size);
  for (const queue of model.queues.values()) compareQueue(space, model, queue);
}

function compareQueue(space: SpaceEngine['space'], model: Model, want: ModelQueue): void {
  const got = space.queue(want.name);
  if (got === undefined) throw new Error(`queue ${want.name} is missing`);
  const here = want.messages.filter((m) => !m.isGhost);
  const locked = here.filter((m) => m.owner !== null);
  const ready = here.filter((m) => m.owner === null && m.isDue);
  const pending = [...model.transactions.values()].flatMap((tx) => tx.pending);
  const used = measure(here);
  const about = `queue ${want.name}`;
  same(`${about}: ready`, got.ready, ready.length);
  same(`${about}: delayed`, got.delayed, here.length - locked.length - ready.length);
  same(`${about}: locked`, got.locked, locked.length);
  same(`${about}: pending`, got.pending, pending.filter(({ queue }) => queue === want).length);
  same(`${about}: bytes`, got.bytes, used.bytes);
  same(`${about}: pages`, got.pages, used.pages);
  same(`${about}: in memory`, got.memoryMessages, used.messages - used.persistent);
  same(`${about}: memory`, got.memoryBytes, used.memory);
  same(`${about}: waiting`, got.waiting, want.waiters.length);
  for (const key of ['enqueued', 'dequeued', 'expired'] as const)
    same(`${about}: ${key}`, got[key], want.counts[key]);
  same(`${about}: armed`, got.armed, want.armed);
  for (const key of Object.keys(want.terms) as (keyof ModelQueue['terms'])[])
    same(`${about}: ${key}`, got.attributes[key], want.terms[key]);
  for (const m of here) compareRow(space, model, m);
}

function compareRow(space: SpaceEngine['space'], model: Model, m: Message): void {
  const msgid = model.ids.get(m.id);
  if (msgid === undefined) return;
  const [epoch, counter] = [Number.parseInt(msgid.slice(8, 20), 16), Number.parseInt(msgid.slice(20), 16)];
  const entry = space.entryById({ epoch, counter });
  if (entry === 0) throw new Error(`#${m.label} is missing`);
  same(`retries of #${m.label}`, space.entries.retries.get(entry), m.retries);
}

// Whether a history can be that of a queue system with atomic transactions that loses and doubles nothing. The outcomes that no client was
// told are chosen so that every committed message is taken by exactly one committed transaction; when no choice does, or when an answer shows
// what an open transaction had done or hides what a committed one did, the findings say so in words. Empty: the history is fine.
import type { History, Operation, Put, Take, Transaction } from './history.ts';

interface Taking {
  readonly take: Take;
  readonly by: Transaction;
}

/** A message and everyone who was handed it, in the order of the answers. */
interface Message {
  readonly put: Put;
  readonly by: Transaction;
  readonly takings: Taking[];
}

export function check(history: History): string[] {
  const findings: string[] = [];
  const messages = messagesOf(history, findings);
  for (const message of messages.values()) checkHandedOut(message, findings);
  const outcomes = new Outcomes(history, messages);
  findings.push(...outcomes.settle());
  if (findings.length === 0) findings.push(...hidden(history, messages, outcomes));
  return findings;
}

/** Every message by its key. */
function messagesOf(history: History, findings: string[]): Map<string, Message> {
  const messages = new Map<string, Message>();
  for (const by of history) {
    for (const put of by.operations.filter(isPut)) {
      if (messages.has(put.key)) findings.push(`${put.key}: put twice, which makes the history useless`);
      messages.set(put.key, { put, by, takings: [] });
    }
  }
  for (const by of history) {
    for (const take of by.operations.filter(isTake)) {
      if (take.key === null) continue;
      const message = messages.get(take.key);
      if (message === undefined || message.put.queue !== take.queue) {
        findings.push(`${by.name} was handed ${take.key} from ${take.queue}, and nobody put it there`);
      } else message.takings.push({ take, by });
    }
  }
  for (const { takings } of messages.values()) takings.sort((a, b) => a.take.answered - b.take.answered);
  return messages;
}

/** Nobody is handed what is not committed, nor what somebody else holds. */
function checkHandedOut({ put, by, takings }: Message, findings: string[]): void {
  for (const [i, one] of takings.entries()) {
    if (by.outcome === 'aborted') {
      findings.push(`${one.by.name} was handed ${put.key}, and ${by.name}, which put it, was rolled back`);
    } else if (one.take.answered < by.ending) {
      findings.push(`${one.by.name} was handed ${put.key} before ${by.name}, which put it, was to commit`);
    }
    for (const earlier of takings.slice(0, i)) {
      if (one.take.answered < earlier.by.ending)
        findings.push(`${one.by.name} was handed ${put.key} while ${earlier.by.name} held it`);
    }
  }
}

/** For each message: as many committed takers as its put is committed, once or not at all. */
interface Equation {
  readonly message: Message;
  /** Unknown outcomes that take part; the putter's counts against the takers'. */
  readonly unknown: Transaction[];
}

/** Which transactions are committed. Those of unknown outcome are variables of the equations of the messages that they touch. */
class Outcomes {
  private readonly committed = new Map<Transaction, boolean>();
  private readonly equations: Equation[] = [];
  private readonly equationsOf = new Map<Transaction, Equation[]>();

  constructor(history: History, messages: ReadonlyMap<string, Message>) {
    for (const one of history) {
      if (one.outcome !== 'unknown') this.committed.set(one, one.outcome === 'committed');
    }
    for (const message of messages.values()) {
      const takers = message.takings.map(({ by }) => by);
      const unknown = [...new Set([message.by, ...takers])].filter(({ outcome }) => outcome === 'unknown');
      const equation = { message, unknown };
      this.equations.push(equation);
      for (const one of unknown) {
        this.equationsOf.set(one, [...(this.equationsOf.get(one) ?? []), equation]);
      }
    }
  }

  isCommitted(transaction: Transaction): boolean {
    return this.committed.get(transaction) === true;
  }

  /** Chooses the unknown outcomes; what is wrong when no choice solves all equations. */
  settle(): string[] {
    const certain = this.equations.filter(({ unknown }) => unknown.length === 0);
    const findings = certain.filter((one) => !this.possible(one)).map((one) => this.told(one));
    const left = new Set(this.equationsOf.keys());
    for (const first of left) {
      const group = this.connected(first);
      for (const one of group) left.delete(one);
      if (!this.choose(group)) findings.push(this.contradiction(group));
    }
    return findings;
  }

  /** Those whose outcomes depend on each other. */
  private connected(first: Transaction): Transaction[] {
    const group = new Set([first]);
    for (const one of group) {
      for (const { unknown } of this.equationsOf.get(one) ?? [])
        for (const other of unknown) group.add(other);
    }
    return [...group];
  }

  /** Tries outcomes one after the other, as long as every equation can still come out. Leaves the choice in `committed`. */
  private choose(group: readonly Transaction[], next = 0): boolean {
    const one = group[next];
    if (one === undefined) return true;
    for (const outcome of [true, false]) {
      this.committed.set(one, outcome);
      const possible = (this.equationsOf.get(one) ?? []).every((equation) => this.possible(equation));
      if (possible && this.choose(group, next + 1)) return true;
    }
    this.committed.delete(one);
    return false;
  }

  /** Whether the chosen outcomes, and some choice of the others, make the takers as many as the puts. */
  private possible({ message: { by, takings } }: Equation): boolean {
    const takers = takings.map((one) => this.committed.get(one.by));
    const least = takers.filter((committed) => committed === true).length;
    const most = takers.filter((committed) => committed !== false).length;
    const put = this.committed.get(by);
    // Who is handed a message shows that its put is committed.
    if (put === false && by.outcome === 'unknown' && takings.length > 0) return false;
    return (put !== false && least <= 1 && most >= 1) || (put !== true && least === 0);
  }

  /** What is wrong with a message whose story is known. */
  private told({ message: { put, by, takings } }: Equation): string {
    const takers = takings.filter((one) => this.isCommitted(one.by)).map((one) => one.by.name);
    if (takers.length === 0) return `${put.key}, put on ${put.queue} by ${by.name}, is lost`;
    if (!this.isCommitted(by)) return `${put.key} was taken by ${takers.join()}, and its put was rolled back`;
    return `${put.key} was taken ${takers.length} times: by ${takers.join(' and ')}`;
  }

  private contradiction(group: readonly Transaction[]): string {
    const keys = new Set(
      group.flatMap((one) => (this.equationsOf.get(one) ?? []).map(({ message }) => message.put.key)),
    );
    const names = group.map((one) => one.name).join(', ');
    return `no outcome of ${names} explains all of ${[...keys].join(', ')}: half of it took effect, or a message is lost or doubled`;
  }
}

/** Messages that were there, free, and not found by somebody who asked for any. */
function hidden(history: History, messages: ReadonlyMap<string, Message>, outcomes: Outcomes): string[] {
  const byQueue = new Map<string, Message[]>();
  for (const message of messages.values()) {
    if (!outcomes.isCommitted(message.by)) continue;
    const { queue } = message.put;
    byQueue.set(queue, [...(byQueue.get(queue) ?? []), message]);
  }
  const shown = new Map<Transaction, number>();
  const findings: string[] = [];
  for (const by of history) {
    for (const take of by.operations.filter(isTake)) {
      if (take.key !== null) continue;
      const missed = (byQueue.get(take.queue) ?? []).find((message) => wasFree(message, take, shownAt));
      if (missed !== undefined) {
        findings.push(
          `${by.name} found nothing on ${take.queue}, where ${missed.put.key} of ${missed.by.name} was`,
        );
      }
    }
  }
  return findings;

  /** From when on everything that the transaction put is there for everyone: its commit was answered, or somebody was handed a part of it. */
  function shownAt(transaction: Transaction): number {
    const known = shown.get(transaction);
    if (known !== undefined) return known;
    const parts = transaction.operations
      .filter(isPut)
      .flatMap(({ key }) => (messages.get(key)?.takings ?? []).map(({ take }) => take.answered));
    const at = Math.min(transaction.ended, ...parts);
    shown.set(transaction, at);
    return at;
  }
}

/** Committed for all to see before the question, and in nobody's hands from then until the answer. */
function wasFree({ by, takings }: Message, asked: Take, shownAt: (one: Transaction) => number): boolean {
  if (shownAt(by) >= asked.asked) return false;
  return takings.every(
    ({ take, by: taker }) =>
      take.asked > asked.answered || (taker.outcome === 'aborted' && taker.ended < asked.asked),
  );
}

function isPut(operation: Operation): operation is Put {
  return operation.kind === 'put';
}

function isTake(operation: Operation): operation is Take {
  return operation.kind === 'take';
}

// The msgids that the engine has given, and which message a command's number means.
import { msgidBytes, type MessageId } from '../../src/queue/message.ts';
import type { QueueSpace } from '../../src/queue/space.ts';
import { same } from './check.ts';
import type { Ref } from './commands.ts';
import type { Model } from './model.ts';
import type { Message, ModelQueue, Transaction } from './state.ts';

export const SPACE_ID = 1;
/** So many of the last ones are what `ever` means. */
const REMEMBERED = 40;

export class Msgids {
  private readonly model: Model;
  private readonly ever: string[] = [];

  constructor(model: Model) {
    this.model = model;
  }

  named({ of, n }: Ref, name: string, tx: Transaction | null): string {
    const { model } = this;
    if (of === 'foreign') return n % 2 === 0 ? '\0'.repeat(32) : 'f'.repeat(32);
    const here = model.queues.get(name)?.messages.filter((m) => !m.isGhost) ?? [];
    const own = tx?.pending.map(({ message }) => message) ?? [];
    const known = (of === 'queue' ? here : own).flatMap((m) => model.ids.get(m.id) ?? []);
    const pool = of === 'ever' || known.length === 0 ? this.ever.slice(-REMEMBERED) : known;
    return pool[n % Math.max(1, pool.length)] ?? '00000001'.padEnd(32, '0');
  }

  learn(id: number, given: MessageId): void {
    const msgid = textOfId(given);
    const known = this.model.ids.get(id);
    if (known !== undefined) return same('msgid', msgid, known);
    if (this.ever.includes(msgid)) throw new Error(`the msgid ${msgid} was given before`);
    this.model.ids.set(id, msgid);
    this.ever.push(msgid);
    return undefined;
  }

  placesBefore(space: QueueSpace, { name, messages }: ModelQueue, message: Message): number[] | null {
    const queue = space.queue(name);
    const labels = new Map(messages.map((m) => [this.model.ids.get(m.id), m.label]));
    const entryOf = (msgid: string): number => {
      const id = {
        epoch: Number.parseInt(msgid.slice(8, 20), 16),
        counter: Number.parseInt(msgid.slice(20), 16),
      };
      return space.entryById(id);
    };
    let entry = entryOf(this.model.ids.get(message.id) ?? '');
    if (queue === undefined || entry === 0) return null;
    const before: number[] = [];
    for (entry = space.placeBefore(queue, entry); entry !== 0; entry = space.placeBefore(queue, entry)) {
      const label = labels.get(textOfId(space.id(entry)));
      if (label !== undefined) before.push(label);
    }
    return before;
  }
}

function textOfId(id: MessageId): string {
  return Buffer.from(msgidBytes(SPACE_ID, id)).toString('latin1');
}

// The verdict over a run: what the ledger says against what was found on the queues in the end. Every message that was acknowledged is there
// once, or was taken once, or is excused by something that its client was told or could not be told; nothing refused or rolled back is ever
// seen; a transaction of unknown outcome is all or nothing. Invariant: each sentence names the message.
import { type Ledger, type Message, placeName, type Take, type Unit } from './ledger.ts';

/** What lies where: the keys on each queue (`space/queue`). */
export type Contents = ReadonlyMap<string, readonly string[]>;

/** Before the key of a message: what its service said when it failed. */
export const FAILED = 'F:';

/** Everything that is wrong; empty when all is well. */
export function verdict(ledger: Ledger, contents: Contents): string[] {
  const judge = new Judge(ledger, contents);
  return [...ledger.found, ...judge.places(), ...judge.messages(), ...judge.units(), ...judge.missing()];
}

class Judge {
  private readonly ledger: Ledger;
  private readonly contents: Contents;
  private readonly foundAt = new Map<string, string[]>();
  /** What must be there and is not, unless an unanswered dequeue took it. */
  private readonly absent: Message[] = [];

  constructor(ledger: Ledger, contents: Contents) {
    this.ledger = ledger;
    this.contents = contents;
    for (const [place, keys] of contents) {
      for (const key of keys) this.foundAt.set(key, [...(this.foundAt.get(key) ?? []), place]);
    }
  }

  places(): string[] {
    const wrong: string[] = [];
    for (const [place, keys] of this.contents) {
      for (const key of keys) {
        if (key.startsWith(FAILED)) {
          wrong.push(...this.failureAt(key, place));
          continue;
        }
        const message = this.ledger.messages.get(key);
        if (message === undefined) wrong.push(`${key}: lies on ${place}, and nobody ever enqueued it`);
        else if (!message.traits.places.some((one) => placeName(one) === place)) {
          wrong.push(`${key}: lies on ${place}, and was put on ${placeName(message.place)}`);
        }
      }
    }
    return wrong;
  }

  /** What a failed service said, on the failure queue: once for each time that it did. */
  private failureAt(key: string, place: string): string[] {
    const failed = this.ledger.messages.get(key.slice(FAILED.length))?.failedWithData ?? 0;
    const here = this.foundAt.get(key)?.length ?? 0;
    return here <= failed
      ? []
      : [`${key}: lies on ${place}, ${here} in all, and the service said so ${failed} times`];
  }

  messages(): string[] {
    return [...this.ledger.messages.values()].flatMap((message) => this.judge(message));
  }

  private judge(message: Message): string[] {
    const { key } = message;
    const here = this.foundAt.get(key) ?? [];
    const sure = message.takes.filter(isSure);
    const open = message.takes.filter((take) => take.unit?.outcome === 'unknown');
    const wrong: string[] = [];
    if (here.length > 1) wrong.push(`${key}: is there ${here.length} times, on ${here.join(' and ')}`);
    if (sure.length > 1) wrong.push(`${key}: was taken for good ${sure.length} times`);
    if (sure.length > 0 && here.length > 0)
      wrong.push(`${key}: is on ${here[0]} again, and its dequeue was acknowledged`);
    const put = putOf(message);
    if (put === 'refused') {
      const seen = here.length + message.takes.length + message.peeks.length + message.served;
      if (seen > 0) wrong.push(`${key}: its enqueue was refused or rolled back, and it was there`);
      return wrong;
    }
    if (here.length + sure.length + open.length > 0 || this.isExcused(message)) return wrong;
    // Whoever was handed it knows that its enqueue took effect.
    if (put === 'there' || message.takes.length + message.peeks.length + message.served > 0)
      this.absent.push(message);
    return wrong;
  }

  /** A transaction whose client does not know its outcome. */
  units(): string[] {
    return this.ledger.units
      .filter((unit) => unit.outcome === 'unknown')
      .flatMap((unit) => this.judgeUnit(unit));
  }

  private judgeUnit(unit: Unit): string[] {
    const puts = unit.puts.filter((message) => message.put !== 'refused' && !this.isExcused(message));
    const put = puts.filter((message) => this.wasSeen(message));
    const back = unit.takes.filter((take) => this.isBack(take));
    if (put.length > 0 && back.length > 0) {
      return [
        `half a transaction: ${keysOf(put)} was put, and ${keysOf(back.map(({ message }) => message))} was not taken`,
      ];
    }
    const isCommitted = put.length > 0;
    if (isCommitted) this.absent.push(...puts.filter((message) => !put.includes(message)));
    if (back.length > 0)
      this.absent.push(...unit.takes.filter((take) => !this.isThere(take)).map(({ message }) => message));
    return [];
  }

  /** What an unanswered dequeue cannot have taken either. */
  missing(): string[] {
    const wrong: string[] = [];
    const excuses = this.ledger.unknownTakes;
    for (const message of new Set(this.absent)) {
      const places = message.traits.places.map(placeName);
      const excuse = excuses.find(({ queue, excused }) => !excused && places.includes(queue));
      if (excuse !== undefined) excuse.excused = true;
      else wrong.push(`${message.key}: ${this.story(message)} and is not there`);
    }
    return wrong;
  }

  private story(message: Message): string {
    const takes = message.takes.map((take) =>
      take.unit === null ? 'taken' : `handed out (${take.unit.outcome})`,
    );
    const enqueue =
      message.unit === null
        ? `enqueue ${message.put}`
        : `enqueued in a transaction (${message.unit.outcome})`;
    return [
      `put on ${placeName(message.place)}, ${enqueue}`,
      ...takes,
      ...(message.served > 0 ? ['served'] : []),
    ].join(', ');
  }

  private wasSeen(message: Message): boolean {
    return message.takes.length + message.peeks.length + message.served > 0 || this.foundAt.has(message.key);
  }

  /** A later delivery, or the end, shows that this one was undone. */
  private isBack(take: Take): boolean {
    const { message, unit } = take;
    const after = (other: Take): boolean => other.unit !== unit && other.askedTick > (unit?.endTick ?? 0);
    return this.foundAt.has(message.key) || message.takes.some(after);
  }

  private isThere({ message }: Take): boolean {
    return this.foundAt.has(message.key) || message.takes.some(isSure) || this.isExcused(message);
  }

  private isExcused(message: Message): boolean {
    const { traits } = message;
    if (traits.expires) return true;
    const from = message.askedTick;
    if (!traits.isPersistent && this.ledger.ends.some((end) => end.toTick > from)) return true;
    const names = traits.places.map(placeName);
    const isCleared = this.ledger.clearings.some(
      ({ queue, toTick }) => names.includes(queue) && toTick > from,
    );
    return isCleared || this.foundAt.has(`${FAILED}${message.key}`);
  }
}

function isSure(take: Take): boolean {
  return take.unit === null || take.unit.outcome === 'committed';
}

/** What is known of an enqueue in the end. */
function putOf(message: Message): 'there' | 'refused' | 'unknown' {
  if (message.put === 'refused') return 'refused';
  const { unit } = message;
  if (unit === null) return message.put === 'there' ? 'there' : 'unknown';
  if (unit.outcome === 'committed') return message.put === 'unknown' ? 'unknown' : 'there';
  return unit.outcome === 'unknown' ? 'unknown' : 'refused';
}

function keysOf(messages: readonly Message[]): string {
  return messages.map((message) => message.key).join(', ');
}

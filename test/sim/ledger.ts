// What the clients of a simulation asked for and were told, message by message, in the order in which they learned it. A message is known by
// its key, which its body carries. Answers arrive late and out of order, so what is said of a moment is said by ticks: a call has one when it
// is made and one when it is answered, and only what lies wholly before something else counts as before it. Whether all of it fits together
// is checked at the end (verdict.ts, order.ts). It must not know how calls are made.

/** What became of a transaction, as far as its client can know. */
export type Outcome = 'open' | 'committed' | 'rolled back' | 'unknown';

export interface Place {
  readonly space: string;
  readonly queue: string;
}

export function placeName({ space, queue }: Place): string {
  return `${space}/${queue}`;
}

/** A transaction. */
export class Unit {
  outcome: Outcome = 'open';
  /** Tick at which its client asked to commit. */
  commitTick = Infinity;
  endTick = Infinity;
  readonly puts: Message[] = [];
  readonly takes: Take[] = [];
}

/** A message was handed to a client. */
export interface Take {
  readonly message: Message;
  /** null: outside transactions, so it is gone with the answer. */
  readonly unit: Unit | null;
  readonly askedTick: number;
  readonly tick: number;
  /** By a selection: it says nothing about the order. */
  readonly selects: boolean;
  /** `space/queue`. */
  readonly from: string;
}

export interface MessageTraits {
  readonly priority: number;
  readonly isPersistent: boolean;
  /** It may vanish by itself. */
  readonly expires: boolean;
  /** It is not deliverable at once, or not where its queue's order would have it. */
  readonly isPlaced: boolean;
  /** What may become of it: the queues on which it may be found, its own among them. */
  readonly places: readonly Place[];
}

export class Message {
  readonly key: string;
  readonly place: Place;
  readonly traits: MessageTraits;
  readonly unit: Unit | null;
  readonly askedTick: number;
  /** What was said of its enqueue; inside a transaction that it was accepted, no more. */
  put: 'asked' | 'there' | 'refused' | 'unknown' = 'asked';
  putTick = Infinity;
  msgid: Uint8Array | null = null;
  readonly takes: Take[] = [];
  readonly peeks: { askedTick: number }[] = [];
  /** Ticks at which a service was asked to work on it. */
  served = 0;
  /** A service answered for it with failure and data. */
  failedWithData = 0;

  constructor(key: string, about: { place: Place; traits: MessageTraits; unit: Unit | null; tick: number }) {
    this.key = key;
    this.place = about.place;
    this.traits = about.traits;
    this.unit = about.unit;
    this.askedTick = about.tick;
  }
}

/** A period in which something about a queue was not as usual. */
export interface Interruption {
  readonly queue: string;
  readonly fromTick: number;
  toTick: number;
}

export class Ledger {
  readonly messages = new Map<string, Message>();
  readonly units: Unit[] = [];
  /** Wrong at once. */
  readonly found: string[] = [];
  /** Dequeues outside transactions whose outcome nobody knows: where and when. */
  readonly unknownTakes: { queue: string; askedTick: number; tick: number; excused: boolean }[] = [];
  /** Purges and destructions: what was there may be gone. */
  readonly clearings: Interruption[] = [];
  /** Ticks at which a life of the daemon ended, and the next one served. */
  readonly ends: Interruption[] = [];
  private ticks = 0;
  private readonly numbers = new Map<string, number>();

  get now(): number {
    return this.ticks;
  }

  tick(): number {
    return ++this.ticks;
  }

  begin(): Unit {
    const unit = new Unit();
    this.units.push(unit);
    return unit;
  }

  /** A message is about to be enqueued. */
  putting(
    stream: string,
    bytes: number,
    about: { place: Place; traits: MessageTraits; unit: Unit | null },
  ): Message {
    const number = this.numbers.get(stream) ?? 0;
    this.numbers.set(stream, number + 1);
    const message = new Message(`${stream}/${number}/${bytes}`, { ...about, tick: this.tick() });
    this.messages.set(message.key, message);
    about.unit?.puts.push(message);
    return message;
  }

  putEnded(message: Message, put: Message['put']): void {
    message.put = put;
    message.putTick = this.tick();
  }

  /** A dequeue was answered with this key. */
  took(
    key: string,
    by: { unit: Unit | null; askedTick: number; selects: boolean; from: string },
  ): Message | null {
    const tick = this.tick();
    const message = this.delivered(key, by.askedTick, by.from);
    if (message === null) return null;
    const take = { message, tick, ...by };
    message.takes.push(take);
    by.unit?.takes.push(take);
    return message;
  }

  peeked(key: string, askedTick: number, from: string): void {
    this.tick();
    this.delivered(key, askedTick, from)?.peeks.push({ askedTick });
  }

  /** A service is asked to work on it. */
  serving(key: string, service: string): Message | null {
    const message = this.delivered(key, this.tick(), service);
    if (message !== null) message.served++;
    return message;
  }

  /** The dequeue of one message of this queue was asked for, and nobody knows what came of it. */
  takeUnknown(queue: string, askedTick: number): void {
    this.unknownTakes.push({ queue, askedTick, tick: this.tick(), excused: false });
  }

  ending(unit: Unit, outcome: Outcome): void {
    unit.outcome = outcome;
    unit.endTick = this.tick();
  }

  violation(text: string): void {
    this.found.push(text);
  }

  private delivered(key: string, askedTick: number, from: string): Message | null {
    const message = this.messages.get(key);
    if (message === undefined) {
      this.violation(`${key}: came from ${from}, and nobody ever enqueued it`);
      return null;
    }
    if (!message.traits.places.some((place) => placeName(place) === from)) {
      this.violation(`${key}: came from ${from}, and was put on ${placeName(message.place)}`);
    }
    for (const take of message.takes) {
      const isGone =
        take.unit === null
          ? take.tick < askedTick
          : take.unit.outcome === 'committed' && take.unit.endTick < askedTick;
      if (isGone) this.violation(`${key}: came from ${from} after its dequeue was acknowledged`);
    }
    if (message.unit !== null && message.unit.commitTick === Infinity) {
      this.violation(`${key}: came from ${from} before its transaction asked to commit`);
    }
    return message;
  }
}

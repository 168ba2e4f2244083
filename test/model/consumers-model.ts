// What a multi-consumer queue should hold, said as plainly as possible [oracle-aq 4.3, 6.1 to 6.5]: a list of messages, each with what every
// recipient has done with it. It is slow and has no indexes; the engine is compared with it.

export interface Rules {
  readonly retries: number;
  readonly retryDelayS: number;
  readonly retentionS: number;
}

interface Place {
  state: 'ready' | 'locked' | 'done' | 'given up' | 'gone';
  attempts: number;
  /** Not before this second. */
  dueS: number;
  /** Who holds it. */
  work: number;
  /** Kept until then, when it is done. */
  keptS: number;
}
interface Message {
  readonly label: string;
  readonly places: Map<string, Place>;
  readonly expiresS: number;
  /** The transaction that it was put in; 0: it is there. */
  pending: number;
}

export class ConsumersModel {
  readonly exceptions: string[] = [];
  nowS = 0;
  private readonly rules: Rules;
  private messages: Message[] = [];

  constructor(rules: Rules) {
    this.rules = rules;
  }

  put(
    label: string,
    given: { to: readonly string[]; delayS: number; expirationS: number; work: number },
  ): void {
    const { to, delayS, expirationS, work } = given;
    const dueS = this.nowS + delayS;
    const place = (): Place => ({ state: 'ready', attempts: 0, dueS, work: 0, keptS: 0 });
    const places = new Map(to.map((name) => [name, place()]));
    const expiresS = expirationS < 0 ? Infinity : dueS + expirationS;
    this.messages.push({ label, places, expiresS, pending: work });
  }

  /** What a consumer sees, in order. */
  seen(consumer: string): string[] {
    return this.messages.filter((one) => this.isReady(one, consumer)).map(({ label }) => label);
  }

  /** What it gets; null: nothing. */
  get(consumer: string, work: number): string | null {
    const message = this.messages.find((one) => this.isReady(one, consumer));
    const place = message?.places.get(consumer);
    if (message === undefined || place === undefined) return null;
    if (work === 0) this.consume(message, place);
    else Object.assign(place, { state: 'locked', work });
    return message.label;
  }

  commit(work: number): void {
    for (const message of this.messages) if (message.pending === work) message.pending = 0;
    this.each(work, (message, place) => this.consume(message, place));
    this.expire();
  }

  /** @param counts whether it is an attempt: the loss of a connection is none */
  rollback(work: number, counts: boolean): void {
    this.messages = this.messages.filter(({ pending }) => pending !== work);
    this.each(work, (message, place) => {
      place.state = 'ready';
      if (message.expiresS <= this.nowS || !counts) return;
      place.attempts++;
      if (place.attempts > this.rules.retries) place.state = 'given up';
      else if (this.rules.retryDelayS > 0) place.dueS = this.nowS + this.rules.retryDelayS;
    });
    this.expire();
    for (const message of this.messages) this.finish(message);
  }

  /** Everybody's transactions are gone, and nobody has failed. */
  restart(): void {
    this.messages = this.messages.filter(({ pending }) => pending === 0);
    for (const { places } of this.messages)
      for (const place of places.values()) if (place.state === 'locked') place.state = 'ready';
    this.expire();
  }

  pass(seconds: number): void {
    this.nowS += seconds;
    this.expire();
  }

  private isReady(message: Message, consumer: string): boolean {
    const place = message.places.get(consumer);
    return message.pending === 0 && place?.state === 'ready' && place.dueS <= this.nowS;
  }

  private each(work: number, act: (message: Message, place: Place) => void): void {
    for (const message of this.messages)
      for (const place of message.places.values())
        if (place.state === 'locked' && place.work === work) act(message, place);
  }

  private consume(message: Message, place: Place): void {
    place.state = 'done';
    place.keptS = this.nowS + this.rules.retentionS;
    this.finish(message);
  }

  /** Nobody waits for it any more, and somebody gave it up: it moves. */
  private finish(message: Message): void {
    const states = [...message.places.values()].map(({ state }) => state);
    if (states.includes('ready') || states.includes('locked') || !states.includes('given up')) return;
    this.exceptions.push(message.label);
    for (const place of message.places.values()) if (place.state === 'given up') place.state = 'gone';
  }

  private expire(): void {
    for (const message of this.messages) {
      if (message.pending !== 0 || message.expiresS > this.nowS) continue;
      for (const place of message.places.values()) {
        if (place.state === 'ready') place.state = 'given up';
      }
      this.finish(message);
    }
  }

  /** Rows that there are: what is not gone, kept, or in the exception queue. */
  rows(): number {
    let rows = this.exceptions.length;
    for (const { places, pending } of this.messages) {
      if (pending !== 0) continue;
      for (const { state, keptS } of places.values())
        if (state === 'done' ? keptS > this.nowS : state !== 'gone') rows++;
    }
    return rows;
  }
}

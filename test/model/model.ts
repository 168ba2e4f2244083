// The naive queue space, from the specification alone: each queue an array of its messages in their final order, every rule a loop over it.
// It shares no code with src. Its time is given to it: one monotonic clock, and how far the space's own time and the wall clock are from it.
// Ghost: the empty place of a message that left while an open transaction still wants to put something before it.
import { QME, TPERRNO, TPQQOS } from '../../proto/codes.ts';
import type { Letter, QueueTerms, SpaceTerms } from './commands.ts';
import { isBefore, measure, recordBytes, threshold } from './rules.ts';
import type {
  Answer,
  Arrival,
  ClockName,
  Instant,
  Message,
  ModelQueue,
  Request,
  Saved,
  Transaction,
} from './state.ts';

const MS = 1000;

export class Model {
  space: SpaceTerms;
  readonly queues = new Map<string, ModelQueue>();
  readonly transactions = new Map<number, Transaction>();
  readonly ids = new Map<number, string>();
  answers: Answer[] = [];
  fires: { queue: string; command: string; needs: number }[] = [];
  mono: number;
  /** How far the clocks are ahead of the monotonic one. */
  readonly ahead: Record<ClockName, number> = { space: 0, wall: 0 };
  /** The append that what is decided now goes to. */
  batch = 1;
  private seq = 0;
  private readonly touched = new Set<ModelQueue>();

  constructor(space: SpaceTerms, mono: number) {
    this.space = space;
    this.mono = mono;
  }

  now(clock: ClockName): number {
    return this.mono + this.ahead[clock];
  }
  private isPast(instant: Instant | null): boolean {
    return instant !== null && instant.at <= this.now(instant.clock);
  }

  transaction(number: number): Transaction | null {
    if (number === 0) return null;
    const known = this.transactions.get(number);
    if (known !== undefined) return known;
    const tx: Transaction = { number, active: false, locked: [], pending: [] };
    this.transactions.set(number, tx);
    return tx;
  }

  /** [1.6, 2.4, 8.4] */
  enqueue(arrival: Arrival): { code: number; message: Message | null; logged: boolean } {
    const { tx, position } = arrival;
    this.settle();
    const queue = this.queues.get(arrival.queue);
    if (queue === undefined) return refused(QME.QMEBADQUEUE);
    if (queue.terms.enqueuePaused) return refused(QME.QMESHARE);
    let before: Message | null = null;
    if (position !== null) {
      const word = position === 'top' ? 'top' : 'msgid';
      if (!queue.terms.outOfOrder.split(',').includes(word)) return refused(QME.QMEINVAL);
      if (position !== 'top') {
        before = this.target(queue, tx, position.msgid);
        if (before === null) return refused(QME.QMEBADMSGID);
      }
    }
    const message = this.messageOf(queue, arrival);
    if (!this.hasSlot(tx) || !this.hasRoom(message)) return refused(QME.QMENOSPACE);
    const isGone = this.isPast(message.expiry);
    if (tx !== null) {
      tx.active = true;
      tx.pending.push({ queue, message, before });
    } else if (!isGone) {
      this.insert(queue, message, before);
      queue.counts.enqueued++;
      this.settle();
    }
    return { code: QME.OK, message, logged: tx === null && message.persistent && !isGone };
  }

  private target(queue: ModelQueue, tx: Transaction | null, msgid: string): Message | null {
    const named = (m: Message): boolean => !m.isGhost && this.ids.get(m.id) === msgid;
    const own = tx?.pending.find((one) => one.queue === queue && named(one.message));
    return queue.messages.find(named) ?? own?.message ?? null;
  }

  private messageOf(queue: ModelQueue, { label, letter, availability, expiry, position }: Arrival): Message {
    const { terms } = queue;
    this.seq++;
    const onWall = ({ clock, at }: Instant): number => at - this.ahead[clock] + this.ahead.wall;
    const byDefault =
      terms.expiryS < 0 ? null : ({ clock: 'space', at: this.now('space') + terms.expiryS * MS } as const);
    const until = expiry === 'none' ? null : (expiry ?? byDefault);
    const sortExpiry = until === null ? Infinity : onWall(until);
    const hasTimes = availability !== null || until !== null || terms.order.includes('time');
    return {
      letter,
      label,
      id: this.seq,
      seq: this.seq,
      anchor: {
        top: position === 'top',
        priority: letter.priority ?? 50,
        time: availability === null ? this.now('wall') : onWall(availability),
        expiry: sortExpiry,
        seq: this.seq,
      },
      isGhost: false,
      persistent: isPersistent(terms, letter),
      bytes: recordBytes(letter, hasTimes),
      sortExpiry,
      expiry: until,
      due: this.isPast(availability) ? null : availability,
      isDue: false,
      retries: 0,
      owner: null,
      changed: 0,
    };
  }

  private hasSlot(tx: Transaction | null): boolean {
    const { transactions } = this.space;
    return transactions === 0 || tx?.active === true || this.activeTransactions < transactions;
  }
  get activeTransactions(): number {
    return [...this.transactions.values()].filter((tx) => tx.active).length;
  }

  private hasRoom(message: Message): boolean {
    const { messages, pages, nonPersistentBytes } = this.space;
    const used = measure([...this.all(), message]);
    if (messages !== 0 && used.messages > messages) return false;
    return message.persistent ? pages === 0 || used.pages <= pages : used.memory <= nonPersistentBytes;
  }

  /** Every message that takes room, those of open transactions too. */
  all(): Message[] {
    const all = [...this.queues.values()].flatMap((queue) => queue.messages.filter((m) => !m.isGhost));
    for (const tx of this.transactions.values()) for (const one of tx.pending) all.push(one.message);
    return all;
  }

  /** The place [2.4, 5.5]: directly before the message named, else before the first that sorts after it. */
  private insert(queue: ModelQueue, message: Message, before: Message | null): void {
    const { messages } = queue;
    let at: number;
    if (before === null) {
      at = messages.findIndex((other) => isBefore(queue.terms.order, message.anchor, other.anchor));
    } else {
      at = messages.indexOf(before);
      message.anchor = before.anchor;
      if (before.isGhost) at = this.placeInGroup(queue, message, before);
    }
    messages.splice(at < 0 ? messages.length : at, 0, message);
    message.changed = this.batch;
    this.touch(queue, message);
  }

  /**
   * The message that it was to be put before has gone. The specification does not say more than that it stood there: among those that were
   * put before the same message any place will do, and the engine's is taken.
   */
  private placeInGroup(queue: ModelQueue, message: Message, ghost: Message): number {
    const { messages } = queue;
    const before = this.whatStandsBefore(queue, message);
    if (before === null) return messages.indexOf(ghost);
    const left = messages.findLastIndex((m) => m.anchor === message.anchor && before.includes(m.label));
    return left < 0 ? messages.findIndex((m) => m.anchor === message.anchor) : left + 1;
  }
  /** Labels of those that were put somewhere and stand before it; null: it is not there. */
  whatStandsBefore: (queue: ModelQueue, message: Message) => number[] | null = () => null;

  /** Leaves a ghost where an open transaction wants to put something before it. */
  private leave(queue: ModelQueue, message: Message, why: 'dequeued' | 'expired' | 'other'): void {
    if (why !== 'other') queue.counts[why]++;
    const at = queue.messages.indexOf(message);
    const pending = [...this.transactions.values()].flatMap((tx) => tx.pending);
    const named = pending.filter((one) => one.before === message);
    const ghosts = named.length === 0 ? [] : [{ ...message, isGhost: true, owner: null }];
    queue.messages.splice(at, 1, ...ghosts);
    for (const one of named) one.before = ghosts[0] ?? null;
    this.touch(queue, message);
  }

  private touch(queue: ModelQueue, { persistent }: Message): void {
    this.touched.add(queue);
    if (persistent) queue.lastTouch = this.batch;
  }

  /** What an answer with it depends on: a lock leaves no trace, so a transaction needs no more than the message and its last change. */
  private needsOf(queue: ModelQueue, { tx, peek }: Request, message: Message): number {
    if (tx === null || peek) return queue.lastTouch;
    return message.persistent ? message.changed : 0;
  }

  /** [2.5] */
  dequeue(request: Request): void {
    const queue = this.queues.get(request.queue);
    if (queue === undefined) return this.refuse(request, QME.QMEBADQUEUE);
    this.settle();
    if (queue.terms.dequeuePaused) return this.refuse(request, QME.QMESHARE);
    if (request.msgid !== null && !isIdOfSpace(request.msgid)) return this.refuse(request, QME.QMEBADMSGID);
    const found = this.pick(queue, request);
    if (found !== undefined) this.hand(queue, request, found);
    else if (!request.wait) this.refuse(request, QME.QMENOMSG);
    else if (!this.hasAction()) this.refuse(request, QME.QMESYSTEM);
    else queue.waiters.push(request);
    return this.settle();
  }

  private pick(queue: ModelQueue, { msgid, corrid }: Request): Message | undefined {
    return queue.messages.find(
      (m) =>
        m.isDue &&
        m.owner === null &&
        !m.isGhost &&
        (msgid === null || this.ids.get(m.id) === msgid) &&
        (corrid === 0 || m.letter.corrid === corrid),
    );
  }

  private hand(queue: ModelQueue, request: Request, message: Message): void {
    const { tx, peek, only } = request;
    if (only !== null && message.letter.type !== only) return this.refuse(request, TPERRNO.TPEOTYPE);
    if (!peek && !this.hasSlot(tx)) return this.refuse(request, QME.QMESYSTEM);
    if (!peek && tx !== null) {
      message.owner = tx;
      tx.active = true;
      tx.locked.push({ queue, message });
    } else if (!peek) {
      this.leave(queue, message, 'dequeued');
    }
    this.answers.push({
      request,
      message: { ...message },
      code: QME.OK,
      needs: this.needsOf(queue, request, message),
    });
    return undefined;
  }

  private refuse(request: Request, code: number): void {
    const isRead = code === QME.QMENOMSG || code === TPERRNO.TPEOTYPE;
    const needs = isRead ? (this.queues.get(request.queue)?.lastTouch ?? 0) : 0;
    this.answers.push({ request, message: null, code, needs });
  }

  private hasAction(): boolean {
    const limit = this.space.processes + this.space.actions;
    return limit === 0 || this.parked.length < limit;
  }
  /** In the order of their arrival. */
  get parked(): Request[] {
    const all = [...this.queues.values()].flatMap((queue) => queue.waiters);
    return all.sort((a, b) => a.number - b.number);
  }

  cancel(requests: readonly Request[], code: number): void {
    for (const request of requests) {
      const queue = this.queues.get(request.queue) as ModelQueue;
      queue.waiters = queue.waiters.filter((one) => one !== request);
      this.refuse(request, code);
    }
  }

  commit(tx: Transaction): void {
    for (const { queue, message } of tx.locked) this.leave(queue, message, 'dequeued');
    for (const { queue } of tx.pending) queue.counts.enqueued++;
    for (const one of tx.pending) if (one.before === null) this.insert(one.queue, one.message, null);
    for (const one of tx.pending) if (one.before !== null) this.insert(one.queue, one.message, one.before);
    this.end(tx);
  }

  /** [2.6] */
  rollback(tx: Transaction, code: number): void {
    this.cancel(
      this.parked.filter((request) => request.tx === tx),
      code,
    );
    for (const { queue, message } of tx.locked) this.giveBack(queue, message);
    this.end(tx);
  }

  private end(tx: Transaction): void {
    this.transactions.delete(tx.number);
    const open = [...this.transactions.values()];
    const wanted = new Set(open.flatMap((one) => one.pending.map(({ before }) => before)));
    for (const queue of this.queues.values())
      queue.messages = queue.messages.filter((m) => !m.isGhost || wanted.has(m));
    this.settle();
  }

  private giveBack(queue: ModelQueue, message: Message): void {
    message.owner = null;
    if (this.isPast(message.expiry)) return this.leave(queue, message, 'expired');
    const { retries, delayS } = queue.terms;
    if (message.retries < retries) {
      message.retries++;
      message.due = delayS === 0 ? null : { clock: 'space', at: this.now('space') + delayS * MS };
      message.isDue = false;
      message.changed = this.batch;
      if (message.persistent) queue.lastTouch = this.batch;
      return undefined;
    }
    this.leave(queue, message, 'other');
    const errorQueue = this.queues.get(this.space.errorQueue);
    if (errorQueue === undefined) return undefined;
    this.seq++;
    const { letter, sortExpiry } = message;
    const moved: Message = {
      ...message,
      id: this.seq,
      seq: this.seq,
      anchor: {
        top: false,
        priority: letter.priority ?? 50,
        time: this.now('wall'),
        expiry: sortExpiry,
        seq: this.seq,
      },
      due: null,
      isDue: false,
      retries: 0,
    };
    return this.insert(errorQueue, moved, null);
  }

  /** Everything whose time has come [8.7]; then whoever waits, in order of arrival; then thresholds. */
  settle(): void {
    for (const queue of this.queues.values()) {
      for (const m of queue.messages.filter((one) => one.owner === null && !one.isGhost)) {
        if (this.isPast(m.expiry)) this.leave(queue, m, 'expired');
        else if (m.due === null || this.isPast(m.due)) m.isDue = true;
      }
    }
    for (const queue of this.queues.values()) {
      for (const request of queue.waiters) {
        const found = this.pick(queue, request);
        if (found === undefined) continue;
        queue.waiters = queue.waiters.filter((one) => one !== request);
        this.hand(queue, request, found);
      }
    }
    for (const queue of this.touched) this.watch(queue);
    this.touched.clear();
  }

  /** [5.6] */
  private watch(queue: ModelQueue): void {
    const all = queue.messages.filter((m) => !m.isGhost);
    for (const kind of [0, 1]) {
      const { command, isHigh, isLow } = threshold(queue.terms, this.space, { all, kind });
      const armed = queue.armed[kind] === true;
      if (command === '' || !(armed ? isHigh : isLow)) continue;
      queue.armed[kind] = !armed;
      queue.lastTouch = this.batch;
      if (armed) this.fires.push({ queue: queue.name, command, needs: this.batch });
    }
  }

  /** Time passes until `mono`, instant by instant. */
  advanceTo(mono: number): void {
    for (let next = this.next(); next <= mono; next = this.next()) {
      this.mono = Math.max(this.mono, next);
      this.settle();
      this.cancel(
        this.parked.filter((request) => request.deadline <= this.mono),
        QME.QMENOMSG,
      );
    }
    this.mono = mono;
    this.settle();
  }

  /** The next instant at which something happens by itself, on the monotonic clock. */
  next(): number {
    const instants: number[] = this.parked.map((request) => request.deadline);
    for (const queue of this.queues.values()) {
      for (const m of queue.messages) {
        if (m.owner !== null || m.isGhost) continue;
        if (m.expiry !== null) instants.push(m.expiry.at - this.ahead[m.expiry.clock]);
        if (m.due !== null && !m.isDue) instants.push(m.due.at - this.ahead[m.due.clock]);
      }
    }
    return Math.min(Infinity, ...instants);
  }

  /** Creates a queue, or changes it. */
  define(terms: QueueTerms): { code: number; changed: boolean } {
    const known = this.queues.get(terms.name);
    if (known === undefined) {
      const { queues } = this.space;
      if (queues !== 0 && this.queues.size >= queues) return { code: QME.QMENOSPACE, changed: false };
      const { name } = terms;
      this.queues.set(name, newQueue({ name, terms, armed: [true, true], messages: [] }));
      return { code: QME.OK, changed: true };
    }
    if (known.terms.order !== terms.order) return { code: QME.QMEINVAL, changed: false };
    const changed = JSON.stringify(known.terms) !== JSON.stringify(terms);
    known.terms = terms;
    if (terms.dequeuePaused) this.cancel(known.waiters, QME.QMESHARE);
    this.settle();
    return { code: QME.OK, changed };
  }

  /** Returns how many went. */
  purge(queue: ModelQueue): number {
    const gone = queue.messages.filter((m) => m.owner === null && !m.isGhost);
    for (const m of gone) this.leave(queue, m, 'other');
    this.settle();
    return gone.length;
  }

  destroy(name: string): number {
    const queue = this.queues.get(name);
    if (queue === undefined) return QME.QMEBADQUEUE;
    const pending = [...this.transactions.values()].flatMap((tx) => tx.pending);
    const inUse = queue.messages.some((m) => m.owner !== null) || pending.some((one) => one.queue === queue);
    if (inUse) return QME.QMESHARE;
    this.cancel(queue.waiters, QME.QMEABORTED);
    this.queues.delete(name);
    return QME.OK;
  }

  /** What is on disk once all that was decided is. */
  save(): Saved {
    const queues = [...this.queues.values()];
    return {
      space: this.space,
      queues: queues.map((queue) => ({
        name: queue.name,
        terms: queue.terms,
        armed: [...queue.armed],
        messages: keptOf(queue),
      })),
    };
  }

  /** A start: what was only in memory is gone, and what happened meanwhile is seen to. */
  restore(saved: Saved, spaceMs: number): void {
    this.space = saved.space;
    this.ahead.space = spaceMs - this.mono;
    this.transactions.clear();
    this.queues.clear();
    for (const { name, terms, armed, messages } of saved.queues) {
      const copies = messages.map((m) => ({ ...m, changed: 0 }));
      const queue = newQueue({ name, terms, armed: [...armed], messages: copies });
      this.queues.set(name, queue);
      this.touched.add(queue);
    }
    this.settle();
  }
}

function newQueue(saved: Saved['queues'][number]): ModelQueue {
  return { ...saved, waiters: [], counts: { enqueued: 0, dequeued: 0, expired: 0 }, lastTouch: 0 };
}

function keptOf(queue: ModelQueue): Message[] {
  const kept = queue.messages.filter((m) => m.persistent && !m.isGhost);
  return kept.map((m) => ({ ...m, owner: null, isDue: false }));
}

const refused = (code: number) => ({ code, message: null, logged: false });

function isPersistent(terms: QueueTerms, { deliveryQos }: Letter): boolean {
  if (deliveryQos === TPQQOS.TPQQOSPERSISTENT) return true;
  return deliveryQos === TPQQOS.TPQQOSNONPERSISTENT ? false : terms.policy === 'persist';
}

/** That the test's space, number 1, could have made it. */
function isIdOfSpace(msgid: string): boolean {
  return /^00000001[0-9a-f]{24}$/.test(msgid);
}

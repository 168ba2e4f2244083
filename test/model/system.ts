// The engine and the model side by side on one clock: each command is given to both, and what they answer is compared. The log is in memory;
// the loop's turns, its syncs and the end of the process are in the test's hands. What the log has been given and what of it is durable is
// noted, so that the model knows what a kill leaves.
import { QME } from '../../proto/codes.ts';
import { openSpace } from '../../src/engine/open-space.ts';
import type { Work } from '../../src/engine/request.ts';
import type { SpaceEngine } from '../../src/engine/space-engine.ts';
import { openMemoryLog, type MemoryLog } from '../../src/wal/memory/memory-log.ts';
import { queueAttributes, spaceAttributes } from '../support/queue-values.ts';
import { compareAnswers, compareState, same } from './check.ts';
import { codeName, type Command, type Dequeue, type Enqueue } from './commands.ts';
import type { QueueTerms, Scene, SpaceTerms, Step, When } from './commands.ts';
import { SteppedClock, LogWatch } from './log-watch.ts';
import { Model } from './model.ts';
import { Msgids, SPACE_ID } from './msgids.ts';
import {
  dataOf,
  enqueueOutcome,
  givenTime,
  outcomeOf,
  Probe,
  propertiesOf,
  SystemRequest,
} from './requests.ts';
import type { Instant, Request, Saved, Transaction } from './state.ts';

/** More than a scene fills. */
const SEGMENT_BYTES = 1024 * 1024;
const SILENT = { info: (): void => {}, warn: (): void => {}, error: (): void => {} };
const ROUNDS_MAX = 200;
const SLICE_ROUNDS = 4;

/** What came of how many commands. */
export type Tally = Map<string, number>;

export interface Options {
  readonly tally?: Tally;
  /** Of the log: small ones are reclaimed while the scene runs. */
  readonly segmentBytes?: number;
  /** Transactions with more to do than this end in slices of this. */
  readonly sliceEntries?: number;
}

export class System {
  readonly model: Model;
  private engine: SpaceEngine | null = null;
  private readonly log: MemoryLog;
  private readonly clock = new SteppedClock();
  private readonly works = new Map<number, Work>();
  private readonly requests = new Map<number, SystemRequest>();
  /** In the order in which they came. */
  private answers: SystemRequest[] = [];
  private readonly msgids: Msgids;
  private due: (() => void)[] = [];
  private probes: Probe[] = [];
  private fired: string[] = [];
  private held = false;
  private readonly watch: LogWatch;
  private labels = 0;
  private lastRequest = 0;
  private asking = false;
  private readonly tally: Tally;
  private readonly sliceEntries: number | undefined;
  /** What the last command came to, for the list. */
  note = '';

  constructor(space: SpaceTerms, options: Options) {
    const { tally = new Map(), segmentBytes = SEGMENT_BYTES } = options;
    this.tally = tally;
    this.sliceEntries = options.sliceEntries;
    this.log = openMemoryLog({ clock: this.clock, spaceId: SPACE_ID, segmentBytes });
    this.model = new Model(space, this.clock.monoMs());
    this.model.ahead.wall = this.clock.wallMs() - this.clock.monoMs();
    this.watch = new LogWatch(this.log, { space, queues: [] });
    this.clock.after = () => this.afterTimer();
    this.msgids = new Msgids(this.model);
    this.model.whatStandsBefore = (queue, message) =>
      this.msgids.placesBefore(this.theEngine.space, queue, message);
  }

  async begin({ space, queues }: Scene): Promise<void> {
    await this.open();
    this.changeSpace(space);
    for (const terms of queues) this.define(terms);
    await this.turn();
  }

  async step({ command, turn }: Step): Promise<void> {
    this.note = '';
    this.model.batch = this.log.appends + 1;
    await this.run(command);
    this.compare();
    if (turn) await this.turn();
  }

  get openTransactions(): number[] {
    return [...this.works.keys()];
  }

  private async run(command: Command): Promise<void> {
    switch (command.op) {
      case 'enqueue':
        return this.enqueue(command);
      case 'dequeue':
        return this.dequeue(command);
      case 'commit':
      case 'rollback':
        return this.end(command.op, command.tx);
      case 'cancel':
        return this.cancel(command.n);
      case 'advance':
        return this.advance(command.ms);
      case 'step':
        return this.stepWall(command.ms);
      case 'jump':
        return this.jump(command.ms, command.request);
      case 'alter':
        return this.alter(command.queue, command.change);
      case 'create':
        return this.define(command.terms);
      case 'space':
        return this.changeSpace({ ...this.model.space, ...command.change });
      case 'purge':
        return this.purge(command.queue);
      case 'destroy':
        return this.destroy(command.queue, command.kill);
      case 'restart':
      case 'kill':
        return this.restart(command);
      default:
        return this.holdSyncs(command.op === 'hold syncs');
    }
  }

  get theEngine(): SpaceEngine {
    if (this.engine === null) throw new Error('the space is not open');
    return this.engine;
  }

  private enqueue(given: Enqueue): void {
    const { model, theEngine: engine } = this;
    const { queue, letter, availability, expiry, position } = given;
    this.labels++;
    const label = this.labels;
    const tx = model.transaction(given.tx);
    const at = expiry === 'none' ? expiry : this.instant(expiry);
    const from = this.instant(availability);
    const place = position === null || position === 'top' ? position : this.msgids.named(position, queue, tx);
    const outcome = engine.enqueue({
      qname: queue,
      properties: propertiesOf(letter, label),
      terms: {
        availability: givenTime(this.clock, availability),
        expiry: expiry === 'none' ? expiry : givenTime(this.clock, expiry),
        position: place === null || place === 'top' ? place : Buffer.from(place),
      },
      data: dataOf(letter, label),
      work: this.work(given.tx),
    });
    const arrival = { label, queue, tx, letter, availability: from, expiry: at };
    const { code, message, logged } = model.enqueue({
      ...arrival,
      position: place === null || place === 'top' ? place : { msgid: place },
    });
    this.note = outcome.code === QME.OK ? `#${label}` : codeName(outcome.code);
    this.count(enqueueOutcome(given, outcome.code));
    same('code of the enqueue', codeName(outcome.code), codeName(code));
    same('refused only for now', outcome.later, false);
    if (message === null || outcome.id === null) return;
    this.msgids.learn(message.id, outcome.id);
    this.probe(`#${label}`, outcome.batch).needs = logged ? model.batch : 0;
  }

  private instant(when: When | null): Instant | null {
    const given = givenTime(this.clock, when);
    if (when === null || given === null) return null;
    const from = when.clock === 'space' ? this.model.now('space') : 0;
    return { clock: when.clock, at: from + given.seconds * 1000 };
  }

  private work(number: number): Work | null {
    if (number === 0) return null;
    const known = this.works.get(number);
    if (known !== undefined) return known;
    const work = this.theEngine.openWork();
    this.works.set(number, work);
    return work;
  }

  private dequeue(given: Dequeue): void {
    const { model } = this;
    const { queue, corrid, peek, only } = given;
    const tx = peek ? null : model.transaction(given.tx);
    this.lastRequest++;
    const request: Request = {
      number: this.lastRequest,
      queue,
      tx,
      msgid: given.msgid === null ? null : this.msgids.named(given.msgid, queue, tx),
      corrid,
      peek,
      // Who gets the last transaction must not depend on which of two queues is looked at first.
      wait: given.wait > 0 && (model.space.transactions === 0 || tx === null || tx.active),
      only,
      // Unlike every other instant, and every other deadline.
      deadline: this.clock.monoMs() + given.wait * 100 + 1 + (this.lastRequest % 97),
    };
    const asked = new SystemRequest(request, {
      work: peek ? null : this.work(given.tx),
      timeoutFailure: QME.QMENOMSG,
      answered: (one, batch) => {
        one.probe = this.probe(`the answer to dequeue ${request.number}`, batch);
        this.answers.push(one);
        this.count(outcomeOf(one, !this.asking));
        this.requests.delete(request.number);
      },
    });
    this.requests.set(request.number, asked);
    this.note = `dequeue ${request.number}`;
    this.asking = true;
    this.theEngine.dequeue(asked);
    this.asking = false;
    model.dequeue(request);
    const { message, code } = asked;
    this.note +=
      message === null ? `: ${code === null ? 'waits' : codeName(code)}` : `: #${message.properties.urcode}`;
  }

  private cancel(n: number): void {
    const parked = this.model.parked;
    const request = parked[n % Math.max(1, parked.length)];
    if (request === undefined) return;
    this.cancelOne(request);
  }
  private cancelOne(request: Request): void {
    const asked = this.requests.get(request.number);
    if (asked === undefined) throw new Error(`dequeue ${request.number} does not wait`);
    same('cancelled', this.theEngine.cancel(asked, QME.QMEABORTED), true);
    this.model.cancel([request], QME.QMEABORTED);
  }

  private end(how: 'commit' | 'rollback', number: number): void {
    const { model, theEngine: engine } = this;
    const work = this.works.get(number);
    const tx = model.transaction(number);
    if (work === undefined || tx === null) return void model.transactions.delete(number);
    this.works.delete(number);
    if (how === 'commit') this.cancelBefore(tx);
    const logged = [...tx.locked, ...(how === 'commit' ? tx.pending : [])];
    const needs = logged.some(({ message }) => message.persistent) ? model.batch : 0;
    if (how === 'commit') {
      this.probe('the commit', engine.commit(work)).needs = needs;
      this.walk();
      return model.commit(tx);
    }
    this.probe('the rollback', engine.rollback(work, QME.QMEABORTED)).needs = needs;
    this.walk();
    return model.rollback(tx, QME.QMEABORTED);
  }

  /** A large transaction ends in slices: all of them before anything else happens. */
  private walk(): void {
    const { endings } = this.theEngine;
    if (endings.isBusy) this.count('ended in slices');
    while (endings.isBusy) endings['slice']();
  }

  /** Those of the transaction; and those who would take away at once what can only be asked of the engine: where it put something. */
  private cancelBefore(tx: Transaction): void {
    const open = tx.pending.filter(({ before }) => before?.isGhost === true || before?.owner === tx);
    const queues = new Set(open.map(({ queue }) => queue.name));
    for (const request of this.model.parked)
      if (request.tx === tx || queues.has(request.queue)) this.cancelOne(request);
  }

  private advance(ms: number): void {
    this.clock.advance(ms);
    this.catchUp();
  }
  private catchUp(): void {
    this.model.batch = this.log.appends + 1;
    this.model.advanceTo(this.clock.monoMs());
  }

  /** The loop's turn ends after each timer. A batch that a timer logged is the clock pair alone: all that was decided was durable. */
  private afterTimer(): void {
    this.noteAppend(() => this.watch.last);
    this.catchUp();
    this.runDue();
  }

  private stepWall(ms: number): void {
    this.clock.stepWall(ms);
    this.model.ahead.wall += ms;
    this.theEngine.settle();
    this.model.settle();
  }

  private jump(ms: number, request: Dequeue | Enqueue): void {
    this.clock.stepWall(ms);
    this.model.ahead.wall += ms;
    if (request.op === 'dequeue') this.dequeue(request);
    else this.enqueue(request);
    this.theEngine.settle();
    this.model.settle();
  }

  private alter(name: string, change: Partial<QueueTerms>): void {
    const terms = this.model.queues.get(name)?.terms;
    if (terms !== undefined) this.define({ ...terms, ...change });
  }

  private define(terms: QueueTerms): void {
    const outcome = this.theEngine.define({
      kind: 'defineQueue',
      attributes: queueAttributes(terms.name, terms),
    });
    const { code, changed } = this.model.define(terms);
    same('code of the definition', codeName(outcome.code), codeName(code));
    this.note = codeName(code);
    this.count(`define: ${this.note}`);
    this.probe(`queue ${terms.name}`, outcome.batch).needs = changed ? this.model.batch : 0;
  }

  private changeSpace(terms: SpaceTerms): void {
    const { code, batch } = this.theEngine.define({
      kind: 'defineSpace',
      attributes: spaceAttributes('S', terms),
    });
    same('code of the definition', codeName(code), codeName(QME.OK));
    this.probe('the space', batch);
    this.model.space = terms;
    this.model.settle();
  }

  private async purge(name: string): Promise<void> {
    const queue = this.theEngine.space.queue(name);
    const wanted = this.model.queues.get(name);
    if (queue === undefined || wanted === undefined) return;
    let purged = -1;
    this.theEngine.purgeQueue(queue, (count, batch) => {
      purged = count;
      this.model.batch = this.log.appends + 1;
      same('purged', purged, this.model.purge(wanted));
      this.probe('the purge', batch);
    });
    await this.slices();
    this.note = `${purged} removed`;
  }

  private async destroy(name: string, kill: boolean): Promise<void> {
    const { code, batch } = this.theEngine.destroyQueue(name);
    same('code of the removal', codeName(code), codeName(this.model.destroy(name)));
    this.note = codeName(code);
    this.count(`destroy: ${this.note}`);
    this.probe('the removal', batch).needs = code === QME.OK ? this.model.batch : 0;
    this.compare();
    await this.slices();
    if (kill) await this.restart({ op: 'kill', downMs: 0, stepMs: 0, keep: false });
  }

  /** Long work gets its turns, but what it did after the first batch is not on the log yet. */
  private async slices(): Promise<void> {
    for (let round = 0; round < SLICE_ROUNDS; round++) this.runDue();
    await this.synced();
  }

  private async holdSyncs(held: boolean): Promise<void> {
    await flush();
    this.held = held;
    if (held) this.log.holdSyncs();
    else this.log.releaseSyncs();
    await this.synced();
  }

  /** The end of the loop's turn, again and again until nothing is left to do in it. */
  private async turn(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      this.runDue();
      await this.synced();
      if (this.due.length === 0) break;
    }
    this.compare();
    compareState(this.theEngine, this.model);
    if (this.held) return;
    for (const { what, state } of this.probes) same(`${what} leaves`, state, 'released');
    same('threshold commands', this.fired.sort(), this.model.fires.map(fireText).sort());
    this.fired = [];
    this.model.fires = [];
    this.probes = [];
  }

  private runDue(): void {
    const runs = this.due;
    this.due = [];
    for (const run of runs) {
      run();
      this.noteAppend(() => this.model.save());
    }
  }

  /** If a batch was appended, notes what it holds. */
  private noteAppend(save: () => Saved): void {
    const time = this.watch.appended(save);
    if (time === null) return;
    const { space, wall } = this.model.ahead;
    same('space time beside the wall clock', time.space - time.wall, space - wall);
  }

  private async synced(): Promise<void> {
    await flush();
    if (!this.held) this.watch.synced();
  }

  /** A clean stop or a kill, and the next start. */
  private async restart(how: Extract<Command, { op: 'restart' | 'kill' }>): Promise<void> {
    if (how.op === 'restart') await this.stop();
    else await this.kill(how.keep);
    this.clock.endLife();
    this.works.clear();
    this.requests.clear();
    this.due = [];
    this.probes = [];
    this.fired = [];
    this.model.fires = [];
    this.clock.advance(how.downMs);
    this.clock.stepWall(how.stepMs);
    this.model.ahead.wall += how.stepMs;
    await this.open();
    this.held = false;
    await this.turn();
  }

  private async stop(): Promise<void> {
    if (this.held) await this.holdSyncs(false);
    await this.synced();
    this.model.cancel(this.model.parked, QME.QMEABORTED);
    await this.theEngine.close();
    this.compare();
    for (const { what, state } of this.probes) same(`${what} leaves before the end`, state, 'released');
    const time = { space: this.model.now('space'), wall: this.model.now('wall') };
    same('the clock pair of the stop', this.log.batches.at(-1)?.time, time);
    this.watch.stopped({ saved: this.model.save(), time });
  }

  private async kill(keep: boolean): Promise<void> {
    await this.synced();
    this.compare();
    this.log.crash(keep);
    this.watch.killed(keep);
    if (this.held) this.log.releaseSyncs();
  }

  private async open(): Promise<void> {
    const { clock, model } = this;
    this.engine = await openSpace(this.log, new AbortController().signal, {
      clock,
      ulog: SILENT,
      soon: (run) => void this.due.push(run),
      runCommand: (command, { queue }) => {
        this.count(`threshold command: ${command}`);
        this.fired.push(fireText({ queue, command }));
      },
    });
    if (this.sliceEntries !== undefined) this.engine.endings.sliceEntries = this.sliceEntries;
    const { saved, time } = this.watch.durable;
    model.mono = clock.monoMs();
    model.batch = this.log.appends + 1;
    // The wall clock carries the space's time over a stop, and it never runs backwards.
    const spaceMs = time === null ? 0 : time.space + Math.max(0, clock.wallMs() - time.wall);
    model.restore(saved, spaceMs);
  }

  private count(what: string): void {
    this.tally.set(what, (this.tally.get(what) ?? 0) + 1);
  }

  private probe(what: string, batch: number): Probe {
    const probe = new Probe(what, () => this.watch.lastDurable);
    this.theEngine.hold(batch, probe);
    this.probes.push(probe);
    return probe;
  }

  /** What was answered since it was last looked. */
  private compare(): void {
    compareAnswers(this.answers, this.model.answers, (one, message) => {
      if (one.message !== null) this.msgids.learn(message.id, one.message.id);
    });
    this.answers = [];
    this.model.answers = [];
    for (const { what, state, needs, durable } of this.probes) {
      if (state === 'released' && durable < needs)
        throw new Error(`${what} left when batch ${durable} was durable; it depends on ${needs}`);
    }
  }
}

function fireText({ queue, command }: { queue: string; command: string }): string {
  return `${queue}: ${command}`;
}

async function flush(): Promise<void> {
  for (let i = 0; i < 6; i++) await Promise.resolve();
}

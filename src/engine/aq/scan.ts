// The entries that one dequeue of the AQ dialect may take, one after the other, in the order of its navigation [oracle-aq 4.2, 4.4]. It moves a
// client's session on as it goes, and takes nothing. Invariants: an entry is READY, or locked by the caller's own transaction for a group;
// at most STEPS entries are looked at before it asks for a turn of its own.
import { NONE } from '../../base/column.ts';
import { MEMORY_REF } from '../../queue/event.ts';
import { isBefore, type MessageId } from '../../queue/message.ts';
import type { Queue } from '../../queue/queue.ts';
import { compareStandings, standingIn } from '../../queue/standing.ts';
import { ENTRY } from '../../queue/tables.ts';
import type { SpaceEngine } from '../space-engine.ts';
import type { AqDequeueRequest } from './request.ts';

/** As in oracle-aq 3.2. */
export const NAVIGATION = { FIRST: 1, NEXT_TRANSACTION: 2, NEXT: 3, FIRST_MULTI: 4, NEXT_MULTI: 5 } as const;
export const MODE = { BROWSE: 1, LOCKED: 2, REMOVE: 3, REMOVE_NODATA: 4 } as const;
const KIND = { PERSISTENT: 1, BUFFERED: 2 } as const;
/** DBMS_AQADM.TRANSACTIONAL. */
const TRANSACTIONAL = 1;
/** Entries looked at in one go: below a millisecond. */
const STEPS = 2000;

const FAULT = { NOT_GROUPED: 25_234, GROUP_ENDED: 25_235, CRITERION: 25_241, CONSUMER: 25_242 } as const;

export class Scan {
  /** Set when there is nothing left because of something else than that: an AQ error number. */
  fault = 0;
  /** There may be more, in a later turn. */
  paused = false;
  private readonly engine: SpaceEngine;
  private readonly request: AqDequeueRequest;
  private readonly lane: Queue;
  private readonly isGrouped: boolean;
  /** It has begun with what came after its snapshot. */
  private renewed = false;
  private at = NONE;
  private atId: MessageId | null = null;
  private steps = 0;

  constructor(engine: SpaceEngine, request: AqDequeueRequest) {
    this.engine = engine;
    this.request = request;
    this.lane = request.lane;
    const { aq } = request.queue.attributes;
    this.isGrouped =
      engine.space.catalog.table(aq?.table ?? '')?.grouping === TRANSACTIONAL && aq?.type === 0;
    this.fault = this.enter();
  }

  /** The next entry, or 0: there is none, or `paused`. */
  next(): number {
    if (this.fault !== 0) return NONE;
    this.paused = false;
    this.steps = 0;
    if (this.isGrouped && !this.crossesGroups) return this.nextOfGroups();
    return this.nextInOrder();
  }

  /** The session goes on behind this entry, which was handed out. */
  passed(entry: number): void {
    const { session } = this.request;
    session.last = standingIn(this.engine.space, entry);
    if (!this.isGrouped) return;
    session.group = this.engine.space.groups.of(entry);
    session.groups.add(session.group);
  }

  /** What a transaction locks with this entry: the others of its group [oracle-aq 4.4]. */
  companions(entry: number): readonly number[] {
    if (!this.isGrouped) return [];
    const { groups, entries } = this.engine.space;
    return groups
      .entriesOf(this.lane.number, groups.of(entry))
      .filter((one) => one !== entry && entries.state.get(one) === ENTRY.READY);
  }

  private get crossesGroups(): boolean {
    const { navigation } = this.request;
    return navigation === NAVIGATION.FIRST_MULTI || navigation === NAVIGATION.NEXT_MULTI;
  }

  /** Begins or goes on; returns a fault. */
  private enter(): number {
    const { navigation, session, criterion } = this.request;
    if (navigation === NAVIGATION.NEXT_TRANSACTION && !this.isGrouped) return FAULT.NOT_GROUPED;
    const key = criterion.by === 'corrid' || criterion.by === 'record' ? criterion.key : '';
    const isFirst = navigation === NAVIGATION.FIRST || navigation === NAVIGATION.FIRST_MULTI;
    if (isFirst || session.lane === 0) {
      session.begin(this.lane.number, key, this.newest());
      return 0;
    }
    if (session.lane !== this.lane.number) return FAULT.CONSUMER;
    return isCorrelation(session.key) !== isCorrelation(key) || (isCorrelation(key) && session.key !== key)
      ? FAULT.CRITERION
      : 0;
  }

  private newest(): MessageId {
    return this.engine.space.messages.latest;
  }

  private nextInOrder(): number {
    for (;;) {
      const entry = this.step();
      if (entry !== NONE) return entry;
      if (this.paused || this.renewed) return NONE;
      this.renewed = true;
      this.request.session.renew(this.newest(), this.request.mode === MODE.BROWSE);
      this.at = NONE;
    }
  }

  /** The next that belongs to the snapshot. */
  private step(): number {
    for (let entry = this.successor(); entry !== NONE; entry = this.successor()) {
      this.at = entry;
      this.atId = this.engine.space.id(entry);
      if (this.isWanted(entry)) return entry;
      if (++this.steps < STEPS) continue;
      this.paused = true;
      return NONE;
    }
    return NONE;
  }

  private successor(): number {
    const { space } = this.engine;
    const { lane } = this;
    const { criterion, session } = this.request;
    const { tree, root } = space.line(lane, criterion.by === 'corrid' ? criterion.corrid : null);
    if (this.isThere()) return tree.after(root, this.at, lane.before);
    const { last } = session;
    if (last === null) return tree.first(root);
    return tree.firstThat(root, (entry) => compareStandings(lane, last, standingIn(space, entry)) < 0);
  }

  /** Whether the entry that was looked at last is still where it was. */
  private isThere(): boolean {
    const { space } = this.engine;
    const { entries } = space;
    if (this.at === NONE || this.atId === null || space.entryById(this.atId) !== this.at) return false;
    return entries.state.get(this.at) === ENTRY.READY && entries.queue.get(this.at) === this.lane.number;
  }

  private isWanted(entry: number): boolean {
    const { space } = this.engine;
    const { session, deliveryMode } = this.request;
    const row = space.entries.message.get(entry);
    const kind = space.messages.ref.get(row) === MEMORY_REF ? KIND.BUFFERED : KIND.PERSISTENT;
    if ((deliveryMode & kind) === 0) return false;
    const id = space.id(entry);
    if (session.snapshot !== null && isBefore(session.snapshot, id)) return false;
    if (session.floor !== null && !isBefore(session.floor, id)) return false;
    return true;
  }

  private nextOfGroups(): number {
    const { navigation, session } = this.request;
    const staysInGroup = navigation === NAVIGATION.NEXT || this.atId !== null;
    if (staysInGroup && session.group !== 0) {
      const entry = this.nextOfGroup(session.group);
      // Of an array, the end of the group is the end of the answer.
      if (entry === NONE && this.atId === null) this.fault = FAULT.GROUP_ENDED;
      return entry;
    }
    for (let entry = this.nextInOrder(); entry !== NONE; entry = this.nextInOrder()) {
      if (!session.groups.has(this.engine.space.groups.of(entry))) return entry;
    }
    return NONE;
  }

  private nextOfGroup(group: number): number {
    const { space } = this.engine;
    const { lane } = this;
    const { last } = this.request.session;
    let found = NONE;
    for (const entry of space.groups.entriesOf(lane.number, group)) {
      if (!this.isMine(entry) || (last !== null && !this.isBehind(entry))) continue;
      if (found === NONE || lane.before(entry, found)) found = entry;
    }
    if (found !== NONE) this.atId = space.id(found);
    return found;
  }

  private isMine(entry: number): boolean {
    const { entries } = this.engine.space;
    const state = entries.state.get(entry);
    if (state === ENTRY.READY) return true;
    return state === ENTRY.LOOKED && entries.owner.get(entry) === this.request.work?.branch.number;
  }

  private isBehind(entry: number): boolean {
    const { last } = this.request.session;
    return last === null || compareIn(this.engine, this.lane, { entry, last }) > 0;
  }
}

function compareIn(
  { space }: SpaceEngine,
  lane: Queue,
  { entry, last }: { entry: number; last: NonNullable<AqDequeueRequest['session']['last']> },
): number {
  return compareStandings(lane, standingIn(space, entry), last);
}

/** Conditions may change from call to call, correlations may not [oracle-aq 4.2]. */
function isCorrelation(key: string): boolean {
  return key.startsWith('c');
}

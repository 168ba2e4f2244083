// Commands: what a role asks of one queue space. They carry the time and every new id, so that deciding needs no clock and no counter.
import type { TransactionId } from '../base/transaction-id.ts';
import type { AqTerms } from './aq.ts';
import type { QueueAttributes, SpaceAttributes } from './attributes.ts';
import type { ObjectClass } from './catalog.ts';
import type { ClockKind, Position, Removal } from './event.ts';
import type { MessageId, MessageProperties } from './message.ts';
import type { Cause } from './provenance.ts';

/** An instant as a client gives it, in seconds: on CLOCK.WALL since 1970, on CLOCK.SPACE from now. */
export interface GivenTime {
  readonly clock: ClockKind;
  readonly seconds: number;
}

/** What an enqueue asks for beside the properties that stay with the message [spec 1.5, 2.4]. */
export interface EnqueueTerms {
  /** TPQTIME_ABS or TPQTIME_REL; null: at once. */
  readonly availability: GivenTime | null;
  /** TPQEXPTIME_ABS or _REL; null: as the queue says; 'none': TPQEXPTIME_NONE. */
  readonly expiry: GivenTime | 'none' | null;
  /** TPQTOP, or TPQBEFOREMSGID with its 32 bytes; null: as the queue's order says. */
  readonly position: 'top' | Uint8Array | null;
}

/** What an enqueue brings: turned into an event by `enqueuedEvent`, without a command, since it may have to wait for a commit. */
export interface Enqueue {
  readonly id: MessageId;
  readonly properties: MessageProperties;
  /** null: none. */
  readonly terms: EnqueueTerms | null;
  /** Space time and wall clock. */
  readonly nowMs: number;
  readonly wallMs: number;
}

/** Put a queued message directly before another [TPQBEFOREMSGID]. */
export interface PlaceCommand {
  readonly kind: 'place';
  readonly id: MessageId;
  readonly before: MessageId;
  /** Where `before` stood when it was named: its place is taken over if it has gone since. */
  readonly standing: Position;
  /** Sets aside the room for giving this many others a new label; false: there is none. */
  readonly mayRelabel: (count: number) => boolean;
}

/** Take the entry that `select` found: lock it for a branch, or remove it. */
export interface TakeCommand {
  readonly kind: 'take';
  readonly entry: number;
  /** The branch of the caller's transaction, or 0. */
  readonly branch: number;
  /** In a branch: a commit unlocks it [oracle-aq 4.3, LOCKED]. */
  readonly looks?: boolean;
  /** Of an entry of the AQ dialect, without a branch. */
  readonly aq?: AqTerms;
}

/** The data of an entry is about to be fetched (`hold`), or has been (`unhold`). */
export interface HoldCommand {
  readonly kind: 'hold' | 'unhold';
  readonly entry: number;
}

/** The caller's transaction committed: what it holds is gone. */
export interface CommitCommand {
  readonly kind: 'commit';
  readonly branch: number;
  /** For entries of the AQ dialect. */
  readonly aq?: AqTerms;
}

/** Look whether a message, of which this entry was given up, has any recipient left [oracle-aq 6.4]. */
export interface FinishCommand {
  readonly kind: 'finish';
  readonly entry: number;
  readonly aq: AqTerms;
}

/** Make, change or (null) take away an object of the catalog. */
export interface DefineObjectCommand {
  readonly kind: 'defineObject';
  readonly type: ObjectClass;
  readonly name: string;
  readonly value: object | null;
}

/** The caller's transaction ended in any other way [spec 2.6]. */
export interface RollbackCommand {
  readonly kind: 'rollback';
  readonly branch: number;
  /** So many entries at most: a large branch is walked in steps. */
  readonly limit: number;
  /** Space time and wall clock. */
  readonly nowMs: number;
  readonly wallMs: number;
  /** Why; kept with what moves to the error queue. */
  readonly cause: Cause;
  /** Makes the id of a message that moves to the error queue. */
  readonly newId: () => MessageId;
  /**
   * Sets aside the room for one move to the error queue, from the queue of this name (null: from the error queue itself); false: there is
   * none, and the message stays with its queue for now.
   */
  readonly mayMove: (from: string | null) => boolean;
  /** As AqTerms has it. */
  readonly later: (entry: number) => void;
}

/** The branch, which is marked as prepared already, says what it holds. */
export interface PrepareCommand {
  readonly kind: 'prepare';
  readonly branch: number;
}

/** The outcome of a prepared branch; before a rollback, `rollback` sees to what it took. */
export interface EndCommand {
  readonly kind: 'end';
  readonly branch: number;
  readonly transaction: TransactionId;
  readonly committed: boolean;
}

/** Time has passed: what became due on this queue is deliverable again, what expired is gone; at most `limit` entries. */
export interface TickCommand {
  readonly kind: 'tick';
  readonly queue: number;
  readonly nowMs: number;
  readonly wallMs: number;
  readonly limit: number;
  /** For a queue of the AQ dialect. */
  readonly aq?: AqTerms;
}

/** Remove this entry, which no transaction holds. */
export interface RemoveCommand {
  readonly kind: 'remove';
  readonly entry: number;
  readonly reason: Removal;
}

/**
 * Put this entry, which no transaction holds, on another queue under a new id: available at once, as if it had never been retried. Whoever
 * asks has seen to it that the other queue may take it, and has set aside the room.
 */
export interface MoveCommand {
  readonly kind: 'move';
  readonly entry: number;
  /** By number. */
  readonly queue: number;
  readonly newId: MessageId;
  readonly wallMs: number;
}

/** Give an entry, which no transaction holds, other values; members that are not there stay [spec 5.2]. */
export interface ChangeCommand {
  readonly kind: 'change';
  readonly entry: number;
  readonly values: NewValues;
  /** Space time and wall clock. */
  readonly nowMs: number;
  readonly wallMs: number;
}

export interface NewValues {
  readonly priority?: number;
  /** When it is available. */
  readonly availability?: GivenTime;
  /** One that has come already removes the message. */
  readonly expiry?: GivenTime | 'none';
}

/** Move an entry, which no transaction holds, to another queue. */
export interface RequeueCommand {
  readonly kind: 'requeue';
  readonly entry: number;
  readonly queue: number;
  readonly newId: MessageId;
  readonly wallMs: number;
}

/** Create a queue, or change what may change of one that exists. */
export interface DefineQueueCommand {
  readonly kind: 'defineQueue';
  readonly attributes: QueueAttributes;
}

/** Take a queue away. Refused while a transaction has work on it. */
export interface DoomQueueCommand {
  readonly kind: 'doomQueue';
  /** Its name, or the number of a lane. */
  readonly qname: string | number;
}

export interface DefineSpaceCommand {
  readonly kind: 'defineSpace';
  readonly attributes: SpaceAttributes;
}

export type Command =
  | PlaceCommand
  | TakeCommand
  | HoldCommand
  | CommitCommand
  | FinishCommand
  | DefineObjectCommand
  | RollbackCommand
  | PrepareCommand
  | EndCommand
  | TickCommand
  | RemoveCommand
  | MoveCommand
  | ChangeCommand
  | RequeueCommand
  | DefineQueueCommand
  | DoomQueueCommand
  | DefineSpaceCommand;

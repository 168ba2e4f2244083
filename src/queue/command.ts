// Commands: what a role asks of one queue space. They carry the time and every new id, so that deciding needs no clock and no counter.
import type { QueueAttributes } from './event.ts';
import type { MessageId, MessageProperties } from './message.ts';

export interface EnqueueCommand {
  readonly kind: 'enqueue';
  readonly qname: string;
  readonly id: MessageId;
  readonly properties: MessageProperties;
}

/** Take the entry that `select` found: lock it for a branch, or remove it. */
export interface TakeCommand {
  readonly kind: 'take';
  readonly entry: number;
  /** The branch of the caller's transaction, or 0. */
  readonly branch: number;
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
}

/** The caller's transaction ended in any other way [spec 2.6]. */
export interface RollbackCommand {
  readonly kind: 'rollback';
  readonly branch: number;
  /** The space's own time. */
  readonly nowMs: number;
  /** Makes the id of a message that moves to the error queue. */
  readonly newId: () => MessageId;
  /** Sets aside the room for one move to the error queue; false: there is none, and the message stays with its queue for now. */
  readonly mayMove: () => boolean;
}

/** Time has passed: what became due is deliverable again. */
export interface DueCommand {
  readonly kind: 'due';
  readonly nowMs: number;
}

/** Create a queue, or change what may change of one that exists. */
export interface DefineQueueCommand {
  readonly kind: 'defineQueue';
  readonly attributes: QueueAttributes;
}

export interface DefineSpaceCommand {
  readonly kind: 'defineSpace';
  readonly name: string;
  readonly errorQueue: string;
}

export type Command =
  | EnqueueCommand
  | TakeCommand
  | HoldCommand
  | CommitCommand
  | RollbackCommand
  | DueCommand
  | DefineQueueCommand
  | DefineSpaceCommand;

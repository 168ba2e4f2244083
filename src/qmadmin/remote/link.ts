// The way to a running daemon: requests of administration and their answers [PROTOCOL 6.2]. The port; src/cli implements it with the SDK.
import type { AdminVerb } from '../../../proto/codes.ts';
import type { Members } from '../../../proto/message.ts';
import { RefusedError } from '../port.ts';

export interface Question {
  readonly qspace?: string;
  readonly qname?: string;
  readonly members?: Members;
}

export interface Answer {
  readonly members: Members;
  readonly items: readonly Members[];
}

export interface Link {
  /**
   * Rejects with a RefusedError when the daemon refuses, `absent` when there is no such queue (QMEBADQUEUE); with a LostError when the daemon is
   * gone.
   */
  ask(verb: AdminVerb, question: Question): Promise<Answer>;
  close(): Promise<void>;
}

/** `address` as the lock's file has it. Rejects with an Error when no daemon answers there. */
export type Connect = (address: string) => Promise<Link>;

/** The daemon does not answer any more. */
export class LostError extends RefusedError {
  override name = 'LostError';
  /** The request was sent and may have taken effect. */
  readonly outcomeUnknown: boolean;

  constructor(reason: string, outcomeUnknown: boolean) {
    const suffix = outcomeUnknown ? '; whether the command took effect is not known' : '';
    super(`the daemon is gone: ${reason}${suffix}`, { refusal: 'failed' });
    this.outcomeUnknown = outcomeUnknown;
  }
}

/** An answer that is not what the protocol says. */
export function unexpected(): RefusedError {
  return new RefusedError(
    'the daemon answered with something else than was asked for: is it of another release?',
    {
      refusal: 'failed',
    },
  );
}

// Where a client stands on a queue it dequeues from by navigation [oracle-aq 4.4]: what was there when it looked first, the criterion it used,
// the message it got last, the group it is in. One for each client and queue; it outlives no connection. Must not know how entries are found.
import type { MessageId } from '../../queue/message.ts';
import type { Standing } from '../../queue/standing.ts';

export class AqSession {
  /** Number of the lane that it looks at; 0: it has not looked yet. */
  lane = 0;
  /** Of the criterion that it looks by. */
  key = '';
  /** Nothing with a later id was there. */
  snapshot: MessageId | null = null;
  /** Of what is browsed, only what came after this one; null: all. */
  floor: MessageId | null = null;
  /** Behind what it goes on; null: from the front. */
  last: Standing | null = null;
  /** The transaction group that it is in; 0: none. */
  group = 0;
  /** The groups that it was in. */
  readonly groups = new Set<number>();

  /** It looks anew. */
  begin(lane: number, key: string, snapshot: MessageId): void {
    this.lane = lane;
    this.key = key;
    this.snapshot = snapshot;
    this.floor = null;
    this.last = null;
    this.group = 0;
    this.groups.clear();
  }

  /** What was there is read to its end: what came since is next, and of what is consumed also what came back. */
  renew(snapshot: MessageId, isBrowsing: boolean): void {
    if (isBrowsing) this.floor = this.snapshot;
    this.snapshot = snapshot;
    this.last = null;
  }
}

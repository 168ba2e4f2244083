// What an operator is told of what happens to messages by itself: one that moved to the error queue, one that was dropped. Asked before the
// event is applied, while the message is still where it was.
import type { Ulog } from '../base/ulog.ts';
import { REMOVAL, type Event } from '../queue/event.ts';
import { msgidBytes, type MessageId } from '../queue/message.ts';
import type { QueueSpace } from '../queue/space.ts';

export function reportEvent(space: QueueSpace, event: Event, ulog: Ulog): void {
  const text = (id: MessageId): string => Buffer.from(msgidBytes(space.spaceId, id)).toString();
  const name = (queue: number): string => space.queueByNumber(queue)?.attributes.name ?? '';
  if (event.kind === 'moved') {
    ulog.warn('retries used up: message moved to the error queue', {
      space: space.name,
      from: name(event.from),
      to: name(event.queue),
      msgid: text(event.id),
      newMsgid: text(event.newId),
    });
  } else if (event.kind === 'removed' && event.reason === REMOVAL.DROPPED) {
    ulog.warn('retries used up and the space has no error queue: message dropped', {
      space: space.name,
      queue: space.queueOf(space.entryById(event.id)).attributes.name,
      msgid: text(event.id),
    });
  }
}

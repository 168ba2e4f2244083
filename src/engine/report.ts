// What an operator is told of what happens to messages by itself: one that moved to the error queue, one that was dropped. Asked before the
// event is applied: one that is dropped is still where it was, one that moved is on the error queue already.
import type { Ulog } from '../base/ulog.ts';
import { REMOVAL, type Event } from '../queue/event.ts';
import { msgidBytes, type MessageId } from '../queue/message.ts';
import { codeName, REASON, reasonWord } from '../queue/provenance.ts';
import type { QueueSpace } from '../queue/space.ts';

export function reportEvent(space: QueueSpace, event: Event, ulog: Ulog): void {
  const text = (id: MessageId): string => Buffer.from(msgidBytes(space.spaceId, id)).toString();
  if (event.kind === 'provenanceSet') {
    const { provenance } = event;
    const { code, rcode } = provenance;
    // That is what expirations are for.
    if (provenance.reason === REASON.TIME_EXPIRATION) return;
    ulog.warn('retries used up: message moved to the error queue', {
      space: space.name,
      from: provenance.name,
      to: space.queueOf(space.entryById(event.id)).attributes.name,
      reason: reasonWord(provenance.reason),
      ...(code === 0 ? {} : { code: codeName(code) }),
      ...(rcode === 0 ? {} : { rcode }),
      msgid: text(provenance.id),
      newMsgid: text(event.id),
    });
  } else if (event.kind === 'removed' && event.reason === REMOVAL.DROPPED) {
    ulog.warn('retries used up and the space has no error queue: message dropped', {
      space: space.name,
      queue: space.queueOf(space.entryById(event.id)).attributes.name,
      msgid: text(event.id),
    });
  }
}

// Message ids of the AQ dialect: 16 bytes, written as 32 hexadecimal digits [oracle-aq 1.3]. They are the digits of a /Q msgid of the same message.
import { msgidBytes, parseMsgid, type MessageId } from '../queue/message.ts';

export function aqMsgid(spaceId: number, id: MessageId): string {
  return Buffer.from(msgidBytes(spaceId, id)).toString('latin1');
}

/** null: it can be no id of this space. */
export function parseAqMsgid(spaceId: number, bytes: Buffer): MessageId | null {
  return parseMsgid(spaceId, Buffer.from(bytes.toString('hex'), 'latin1'));
}

// What the record of a message of the AQ dialect has beside that of any other: its AQ properties as JSON, and its recipients. It stands in the
// variable part, before the times. The byte boxes are in src/wal/FORMAT.md, "Records"; numbers are little-endian.
import type { Recipient } from '../queue/event.ts';
import type { AqProperties } from '../queue/message.ts';

const LENGTH_BYTES = 2;
const COUNT_BYTES = 2;
const RECIPIENT_BYTES = 18;

/** The JSON of the properties of one message is needed twice: for its length, and to be written. */
const texts = new WeakMap<AqProperties, Buffer>();

function textOf(aq: AqProperties): Buffer {
  let text = texts.get(aq);
  if (text === undefined) {
    text = Buffer.from(JSON.stringify(aq));
    texts.set(aq, text);
  }
  return text;
}

export function aqPartBytes(aq: AqProperties, recipients: number): number {
  return LENGTH_BYTES + textOf(aq).length + COUNT_BYTES + recipients * RECIPIENT_BYTES;
}

export function writeAqPart(
  into: Buffer,
  at: number,
  { aq, recipients }: { aq: AqProperties; recipients: readonly Recipient[] },
): void {
  const text = textOf(aq);
  let to = into.writeUInt16LE(text.length, at);
  into.set(text, to);
  to = into.writeUInt16LE(recipients.length, to + text.length);
  for (const { queue, copy, retries, dueMs } of recipients) {
    to = into.writeUInt32LE(queue, to);
    to = into.writeUInt16LE(copy, to);
    to = into.writeUInt32LE(retries, to);
    to = into.writeDoubleLE(dueMs, to);
  }
}

/** null: that much of the record is not there. */
export function readAqProperties(bytes: Buffer, at: number): AqProperties | null {
  const from = at + LENGTH_BYTES;
  if (from > bytes.length) return null;
  const end = from + bytes.readUInt16LE(at);
  return end > bytes.length ? null : (JSON.parse(bytes.toString('utf8', from, end)) as AqProperties);
}

/** undefined: the message has one place. */
export function readRecipients(bytes: Buffer, at: number): Recipient[] | undefined {
  let from = at + LENGTH_BYTES + bytes.readUInt16LE(at);
  const count = bytes.readUInt16LE(from);
  if (count === 0) return undefined;
  from += COUNT_BYTES;
  const recipients: Recipient[] = [];
  for (let i = 0; i < count; i++, from += RECIPIENT_BYTES) {
    recipients.push({
      queue: bytes.readUInt32LE(from),
      copy: bytes.readUInt16LE(from + 4),
      retries: bytes.readUInt32LE(from + 6),
      dueMs: bytes.readDoubleLE(from + 10),
    });
  }
  return recipients;
}

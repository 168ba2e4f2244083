// A message as a program sees it: the data and what came with it, in words.
import { TPQ } from '../../proto/codes.ts';
import { corridText, type TPQCTL } from './tpqctl.ts';

const NO_BYTES = new Uint8Array(0);

/** A message that was taken (or looked at). */
export class Message<T = unknown> {
  readonly data: T;
  /** Buffer type; '' when there is no data. */
  readonly type: string;
  readonly subtype: string;
  /** 32 bytes. */
  readonly msgid: Uint8Array;
  /** 32 bytes, or null. */
  readonly corrid: Uint8Array | null;
  /** What the sender gave, or null. */
  readonly priority: number | null;
  readonly replyTo: string | null;
  readonly failTo: string | null;
  /** 16 opaque bytes: the client that put it. */
  readonly cltid: Uint8Array;
  readonly urcode: number;
  /** The sender's application key; -1: none. */
  readonly appkey: number;

  constructor(received: { data: T; type: string; subtype: string }, ctl: TPQCTL) {
    const has = (bit: number): boolean => (ctl.flags & bit) !== 0;
    this.data = received.data;
    this.type = received.type;
    this.subtype = received.subtype;
    this.msgid = ctl.msgid ?? NO_BYTES;
    this.corrid = has(TPQ.TPQCORRID) && ctl.corrid instanceof Uint8Array ? ctl.corrid : null;
    this.priority = has(TPQ.TPQPRIORITY) ? ctl.priority : null;
    this.replyTo = has(TPQ.TPQREPLYQ) ? ctl.replyqueue : null;
    this.failTo = has(TPQ.TPQFAILUREQ) ? ctl.failurequeue : null;
    this.cltid = ctl.cltid ?? NO_BYTES;
    this.urcode = ctl.urcode;
    this.appkey = ctl.appkey;
  }

  /** The corrid as text, without its padding; null: none. */
  get corridText(): string | null {
    return this.corrid === null ? null : corridText(this.corrid);
  }

  /** The msgid as the daemon's log and the commands show it: its 32 printable characters, else 0x and 64 hexadecimal digits. */
  get msgidText(): string {
    const bytes = Buffer.from(this.msgid);
    const text = bytes.toString('latin1');
    return /^[\x21-\x7e]+$/.test(text) ? text : `0x${bytes.toString('hex')}`;
  }
}

// `tmqueue dequeue QSPACE QUEUE`: one tpdequeue.
import { TPFLAG, TPQCTL, TPQ, type Received } from '../../clients/typescript/index.ts';
import { withContext, type ConnectOptions } from './connect.ts';
import { EXIT } from './exit.ts';
import { showId } from './input.ts';

export interface DequeueOptions extends ConnectOptions {
  readonly wait?: boolean;
  readonly timeout?: number;
  readonly corrid?: Uint8Array | string;
  readonly msgid?: Uint8Array | string;
  readonly peek?: boolean;
  readonly hex?: boolean;
  readonly json?: boolean;
}

export async function dequeue(qspace: string, qname: string, options: DequeueOptions): Promise<number> {
  const ctl = ctlOf(options);
  return withContext(options, async (ctx) => {
    const waitMs = options.timeout === undefined ? 0 : Math.max(1, Math.round(options.timeout * 1000));
    // As bytes: whatever is in it, a message that was taken is shown.
    const extras = { waitMs, raw: true };
    const received = decoded(await ctx.tpdequeue(qspace, qname, ctl, null, TPFLAG.TPNOTIME, extras));
    process.stdout.write(
      options.json === true
        ? `${JSON.stringify(describe(ctl, received, options))}\n`
        : show(received, options),
    );
    return EXIT.OK;
  });
}

function ctlOf(options: DequeueOptions): TPQCTL {
  const ctl = new TPQCTL({
    flags: TPQ.TPQMSGID | TPQ.TPQCORRID | TPQ.TPQPRIORITY | TPQ.TPQREPLYQ | TPQ.TPQFAILUREQ,
  });
  if (options.wait === true || options.timeout !== undefined) ctl.flags |= TPQ.TPQWAIT;
  if (options.peek === true) ctl.flags |= TPQ.TPQPEEK;
  if (options.corrid !== undefined) {
    ctl.flags |= TPQ.TPQGETBYCORRID;
    ctl.corrid = options.corrid;
  }
  if (options.msgid !== undefined) {
    ctl.flags |= TPQ.TPQGETBYMSGID;
    ctl.msgid =
      typeof options.msgid === 'string' ? Buffer.from(options.msgid.padEnd(32, '\0')) : options.msgid;
  }
  return ctl;
}

/** What was received: its bytes, and what they are as text and as a value; null: not what their type says, or of a type without one. */
interface Shown {
  readonly type: string;
  readonly subtype: string;
  readonly bytes: Uint8Array;
  readonly text: string | null;
  readonly value: unknown;
}

const ENCODINGS: Readonly<Record<string, string>> = { STRING: 'utf-8', XML: 'utf-8', JSON: 'utf-8' };

function decoded({ type, subtype, data }: Received): Shown {
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(0);
  const encoding = type === 'MBSTRING' ? subtype || 'utf-8' : ENCODINGS[type];
  const none = { type, subtype, bytes, text: null, value: null };
  if (data === null || encoding === undefined) return none;
  try {
    const text = new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
    const value: unknown = type === 'JSON' ? JSON.parse(text) : text;
    return { ...none, text, value };
  } catch {
    return none;
  }
}

/** Text ends with a line feed; bytes are written as they are. */
function show({ bytes, text }: Shown, options: DequeueOptions): Uint8Array | string {
  if (options.hex === true) return `${Buffer.from(bytes).toString('hex')}\n`;
  return text === null ? bytes : `${text}\n`;
}

function describe(ctl: TPQCTL, received: Shown, options: DequeueOptions): Record<string, unknown> {
  const has = (bit: number): boolean => (ctl.flags & bit) !== 0;
  const isBytes = (received.text === null && received.type !== '') || options.hex === true;
  return {
    msgid: ctl.msgid === null ? '' : showId(ctl.msgid),
    type: received.type,
    ...(received.subtype === '' ? {} : { subtype: received.subtype }),
    ...(has(TPQ.TPQCORRID) && ctl.corrid !== null && typeof ctl.corrid !== 'string'
      ? { corrid: showId(ctl.corrid) }
      : {}),
    ...(has(TPQ.TPQPRIORITY) ? { priority: ctl.priority } : {}),
    ...(has(TPQ.TPQREPLYQ) ? { replyqueue: ctl.replyqueue } : {}),
    ...(has(TPQ.TPQFAILUREQ) ? { failurequeue: ctl.failurequeue } : {}),
    urcode: ctl.urcode,
    appkey: ctl.appkey,
    ...(isBytes ? { hex: Buffer.from(received.bytes).toString('hex') } : { data: received.value }),
  };
}

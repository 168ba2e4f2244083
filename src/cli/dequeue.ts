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
    const received = await ctx.tpdequeue(qspace, qname, ctl, null, TPFLAG.TPNOTIME, { waitMs });
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

function bytesOf({ data }: Received): Uint8Array {
  if (data === null) return new Uint8Array(0);
  if (data instanceof Uint8Array) return data;
  return Buffer.from(typeof data === 'string' ? data : JSON.stringify(data));
}

/** Text ends with a line feed; bytes are written as they are. */
function show(received: Received, options: DequeueOptions): Uint8Array | string {
  const bytes = bytesOf(received);
  if (options.hex === true) return `${Buffer.from(bytes).toString('hex')}\n`;
  if (received.data instanceof Uint8Array || received.data === null) return bytes;
  return `${Buffer.from(bytes).toString()}\n`;
}

function describe(ctl: TPQCTL, received: Received, options: DequeueOptions): Record<string, unknown> {
  const has = (bit: number): boolean => (ctl.flags & bit) !== 0;
  const isBytes = received.data instanceof Uint8Array || options.hex === true;
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
    ...(isBytes ? { hex: Buffer.from(bytesOf(received)).toString('hex') } : { data: received.data }),
  };
}

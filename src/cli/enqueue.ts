// `tmqueue enqueue QSPACE QUEUE`: one tpenqueue.
import { isUtf8 } from 'node:buffer';
import { typed, TPQCTL, TPQ, type TypedBuffer } from '../../clients/typescript/index.ts';
import { withContext, type ConnectOptions } from './connect.ts';
import { EXIT } from './exit.ts';
import { parseHex, readData, showId } from './input.ts';

export interface EnqueueOptions extends ConnectOptions {
  readonly data?: string;
  readonly hex?: boolean;
  readonly type?: string;
  readonly corrid?: Uint8Array | string;
  readonly priority?: number;
  readonly replyQueue?: string;
  readonly failureQueue?: string;
  readonly urcode?: number;
  readonly timeout?: number;
  readonly json?: boolean;
}

export async function enqueue(qspace: string, qname: string, options: EnqueueOptions): Promise<number> {
  const buffer = bufferOf(options);
  const ctl = ctlOf(options);
  return withContext(options, async (ctx) => {
    const limit =
      options.timeout === undefined ? {} : { signal: AbortSignal.timeout(options.timeout * 1000) };
    await ctx.tpenqueue(qspace, qname, ctl, buffer, 0, limit);
    const msgid = ctl.msgid === null ? '' : showId(ctl.msgid);
    process.stdout.write(`${options.json === true ? JSON.stringify({ qspace, qname, msgid }) : msgid}\n`);
    return EXIT.OK;
  });
}

function bufferOf(options: EnqueueOptions): TypedBuffer | null {
  if (options.data === undefined) return null;
  const bytes = readData(options.data);
  if (options.hex === true) return typed(options.type ?? 'CARRAY', '', parseHex(bytes.toString('latin1')));
  return typed(options.type ?? (isUtf8(bytes) ? 'STRING' : 'CARRAY'), '', bytes);
}

function ctlOf(options: EnqueueOptions): TPQCTL {
  const ctl = new TPQCTL({ flags: TPQ.TPQMSGID });
  if (options.corrid !== undefined) {
    ctl.flags |= TPQ.TPQCORRID;
    ctl.corrid = options.corrid;
  }
  if (options.priority !== undefined) {
    ctl.flags |= TPQ.TPQPRIORITY;
    ctl.priority = options.priority;
  }
  if (options.replyQueue !== undefined) {
    ctl.flags |= TPQ.TPQREPLYQ;
    ctl.replyqueue = options.replyQueue;
  }
  if (options.failureQueue !== undefined) {
    ctl.flags |= TPQ.TPQFAILUREQ;
    ctl.failurequeue = options.failureQueue;
  }
  if (options.urcode !== undefined) ctl.urcode = options.urcode;
  return ctl;
}

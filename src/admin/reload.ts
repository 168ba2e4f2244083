// RELOAD: the daemon reads its configuration again. Owns the request and its answer; what is done is boot's, which hands in a port. Invariants:
// exactly one answer each; one reload at a time; an administrator who gives up does not take one back.
import { LIMIT, OP, QME, TPERRNO } from '../../proto/codes.ts';
import type { ReloadItem, ReloadOutcome } from '../../proto/admin.ts';
import { membersBytesMax } from '../../proto/members.ts';
import type { Admin, Members } from '../../proto/message.ts';
import { errorReply } from '../atmi/reply-port.ts';
import type { ServerAsked } from './servers.ts';

export interface ReloadResult {
  readonly outcome: ReloadOutcome;
  readonly items: readonly ReloadItem[];
}

/** @param file another one than that of the start; null: the same */
export type Reload = (file: string | null) => Promise<ReloadResult>;

export class ReloadRequests {
  private readonly reload: Reload;
  private isRunning = false;

  constructor(reload: Reload) {
    this.reload = reload;
  }

  handle({ client, request, refuse, said }: ServerAsked): void {
    const { id, members } = request;
    if (request.qspace !== '' || request.qname !== '') {
      return refuse(TPERRNO.TPEINVAL, 'this verb takes neither a queue space nor a queue');
    }
    const fault = memberFault(members);
    if (fault !== '') return refuse(QME.QMEINVAL, fault);
    if (this.isRunning) {
      return refuse(
        TPERRNO.TPEPROTO,
        'the configuration is being read again at this moment: ask again when that is done',
      );
    }
    this.isRunning = true;
    let isOver = false;
    const answer = (send: () => void): void => {
      if (isOver) return;
      isOver = true;
      client.pending.delete(id);
      send();
    };
    client.pending.set(id, {
      cancel: () => {
        if (isOver) return false;
        answer(() =>
          client.port.send(
            errorReply(id, TPERRNO.TPGOTSIG, 'the configuration goes on being read again, and takes effect'),
          ),
        );
        return true;
      },
    });
    this.reload(String(members['file'] ?? '') || null)
      .then(
        ({ outcome, items }) => {
          said(`the configuration was read again: ${outcome}, ${items.length} lines of answer`);
          answer(() => client.port.send(replyOf(request, { outcome, items })));
        },
        (error: unknown) => {
          const text = error instanceof Error ? error.message : String(error);
          answer(() => refuse(TPERRNO.TPESYSTEM, text));
        },
      )
      .finally(() => {
        this.isRunning = false;
      });
    return undefined;
  }
}

function memberFault(members: Members): string {
  const other = Object.keys(members).find((name) => name !== 'file');
  if (other !== undefined) return `${other} is no member of this verb; legal: file`;
  const { file } = members;
  if (file === undefined || (typeof file === 'string' && file !== '')) return '';
  return `file: ${JSON.stringify(file).slice(0, 60)} is not legal; legal: the name of a file, or not given`;
}

/** As many items as an answer holds; the log has all. */
function replyOf(
  { id }: Admin,
  { outcome, items }: ReloadResult,
): { op: typeof OP.ADMIN; id: number; members: Members; items: Members[] } {
  const told: Members[] = [];
  let bytes = 0;
  for (const item of items.slice(0, LIMIT.PAGE_MAX)) {
    const shown: Members = { ...item, text: cut(item.text), file: cut(item.file) };
    bytes += membersBytesMax(shown);
    if (bytes > LIMIT.PAGE_BYTES) break;
    told.push(shown);
  }
  return { op: OP.ADMIN, id, members: { outcome, unlisted: items.length - told.length }, items: told };
}

/** At a character, so that it can be sent. */
function cut(text: string): string {
  if (Buffer.byteLength(text) <= LIMIT.STRING_BYTES) return text;
  return `${Buffer.from(text)
    .subarray(0, LIMIT.STRING_BYTES - 4)
    .toString('utf8')
    .replace(/\uFFFD+$/, '')}…`;
}

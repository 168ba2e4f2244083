// A queue space that a running daemon has open. Every answer is asked for when it is needed: others work on the space too. Further requests of
// administration are one method each, through `ask`.
import { ADMIN, type AdminVerb, LIMIT } from '../../../proto/codes.ts';
import { isQueueInfo, isSpaceInfo, type QueueInfo } from '../../../proto/admin.ts';
import { isChangeInfo } from '../../../proto/message-admin.ts';
import type { Members } from '../../../proto/message.ts';
import { isRedriveInfo, isRedriveItem, type RedriveOptions } from '../../../proto/redrive.ts';
import {
  QUEUE_DEFAULTS,
  SPACE_DEFAULTS,
  type QueueAttributes,
  type SpaceAttributes,
} from '../../queue/attributes.ts';
import {
  RefusedError,
  type ChangeCounts,
  type ChangeOrder,
  type ListOrder,
  type MessagePage,
  type QueueChanges,
  type QueueView,
  type Redriven,
  type SpacePort,
  type TransactionView,
} from '../port.ts';
import { type Answer, type Link, LostError, unexpected } from './link.ts';
import { changeMembers, listMembers, messageOf, transactionOf } from './remote-messages.ts';

export class RemoteSpace implements SpacePort {
  readonly name: string;
  readonly isServed: boolean;
  failed = false;
  private readonly link: Link;
  /** How requests name the space. */
  private readonly qspace: string;

  constructor(link: Link, opened: { name: string; qspace: string; isServed: boolean }) {
    this.link = link;
    this.name = opened.name;
    this.qspace = opened.qspace;
    this.isServed = opened.isServed;
  }

  async attributes(): Promise<SpaceAttributes> {
    const { members } = await this.ask(ADMIN.QSPACEINFO);
    if (!isSpaceInfo(members)) throw unexpected();
    return picked(members, SPACE_DEFAULTS);
  }

  async queues(): Promise<QueueView[]> {
    const views: QueueView[] = [];
    for (let after = '', more = true; more;) {
      const { members, items } = await this.ask(ADMIN.QLIST, '', { after, limit: LIMIT.PAGE_MAX });
      const page = items.map(viewOf);
      views.push(...page);
      after = page.at(-1)?.attributes.name ?? '';
      more = members['more'] === true && after !== '';
    }
    return views;
  }

  async queue(name: string): Promise<QueueView | undefined> {
    try {
      return viewOf((await this.ask(ADMIN.QINFO, name)).members);
    } catch (error) {
      if (error instanceof RefusedError && error.refusal === 'absent') return undefined;
      throw error;
    }
  }

  async createQueue({ name, aq: _aq, ...members }: QueueAttributes): Promise<void> {
    await this.ask(ADMIN.QCREATE, name, members);
  }

  async changeQueue(name: string, changes: QueueChanges): Promise<void> {
    const { aq: _aq, ...members } = changes;
    await this.ask(ADMIN.QCHANGE, name, members);
  }

  async destroyQueue(name: string, purge: boolean): Promise<number> {
    const { members } = await this.ask(ADMIN.QDESTROY, name, { purge });
    return Number(members['count'] ?? 0);
  }

  async listMessages(order: ListOrder): Promise<MessagePage> {
    const { members, items } = await this.ask(ADMIN.MSGLIST, order.queue, listMembers(order));
    const { cursor } = members;
    if (typeof cursor !== 'string') throw unexpected();
    return { messages: items.map(messageOf), cursor: cursor === '' ? null : cursor };
  }

  async changeMessages(order: ChangeOrder): Promise<ChangeCounts> {
    const { members } = await this.ask(ADMIN.MSGCHANGE, order.queue, changeMembers(order));
    if (isChangeInfo(members)) return members;
    throw unexpected();
  }

  async transactions(decided: boolean): Promise<TransactionView[]> {
    const found: TransactionView[] = [];
    for (let after = 0, more = true; more;) {
      const { members, items } = await this.ask(ADMIN.TRANLIST, '', { after, decided });
      const page = items.map(transactionOf);
      found.push(...page);
      const last = Math.max(after, ...page.map(({ index }) => index ?? 0));
      more = members['more'] === true && last > after;
      after = last;
    }
    return found;
  }

  async endTransaction(index: number, commit: boolean): Promise<void> {
    await this.ask(ADMIN.TRANEND, '', { index, commit });
  }

  async redrive(qname: string, options: RedriveOptions): Promise<Redriven> {
    const { members, items } = await this.ask(ADMIN.QREDRIVE, qname, { ...options });
    if (isRedriveInfo(members) && items.every(isRedriveItem)) return { ...members, queues: items };
    throw unexpected();
  }

  /** It stays open in the daemon: others may be at work on it. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  /** One request about the space, or about one of its queues. */
  async ask(verb: AdminVerb, qname = '', members: Members = {}): Promise<Answer> {
    if (this.failed) throw new LostError(`open the space again: qopen ${this.name}`, false);
    try {
      return await this.link.ask(verb, { qspace: this.qspace, qname, members });
    } catch (error) {
      if (error instanceof LostError) this.failed = true;
      throw error;
    }
  }
}

function viewOf(members: Members): QueueView {
  if (!isQueueInfo(members)) throw unexpected();
  const info: QueueInfo = members;
  const { persistentMessages, pages, nonPersistentMessages, nonPersistentBytes } = info;
  const { aq, ...plain } = QUEUE_DEFAULTS;
  const attributes = { ...picked(info, plain), aq };
  return { attributes, persistentMessages, pages, nonPersistentMessages, nonPersistentBytes };
}

/** The members that `like` has. */
function picked<T extends object>(from: T, like: T): T {
  const names = Object.keys(like) as (keyof T)[];
  return Object.fromEntries(names.map((name) => [name, from[name]])) as T;
}

// MSGLIST, MSGCHANGE, TRANLIST, TRANEND: an administrator's requests about messages and transactions [spec 5.2, 7.3, 7.4]. Owns how they are put to
// the engine and the texts of refusals. Invariant: what is answered is held for the batch that is returned with it.
import { LIMIT, QME, TPERRNO } from '../../proto/codes.ts';
import type { TransactionInfo } from '../../proto/message-admin.ts';
import type { Members } from '../../proto/message.ts';
import { formatTransactionId, type TransactionId } from '../base/transaction-id.ts';
import { cursorText, parseCursor } from '../engine/cursor-text.ts';
import { changeMessages, type Changed, type MessageChange } from '../engine/message-change.ts';
import { listMessages } from '../engine/message-list.ts';
import type { BatchNumber, Failure } from '../engine/request.ts';
import type { SpaceEngine } from '../engine/space-engine.ts';
import type { Branch, PreparedFor } from '../queue/branches.ts';
import type { Queue } from '../queue/queue.ts';
import { criteriaOf, type Criteria } from '../queue/selection.ts';
import {
  ACTION_MEMBERS,
  actionIn,
  criteriaIn,
  MemberFault,
  messageMembers,
  PAGE_MEMBERS,
  pageIn,
} from './message-members.ts';
import type { NamedSpace } from './views.ts';

export interface Answer {
  readonly members: Members;
  readonly items?: readonly Members[];
  readonly batch: BatchNumber;
  readonly said?: string;
}
export interface Refusal {
  readonly failure: Failure;
  readonly message: string;
  readonly batch: BatchNumber;
}

/** What is known of transactions outside the space's own log. */
export interface TransactionPorts {
  /** Of an open transaction by its branch in that space; null: it is of none. */
  readonly transactionOf: (branch: Branch) => TransactionId | null;
  /** Whether it is known to be committed. */
  readonly isCommitted: (prepared: PreparedFor) => boolean;
}

/** Runs `work`; what is wrong with a member becomes a refusal. */
export async function withoutFaults(
  work: () => Promise<Answer | Refusal> | Answer | Refusal,
): Promise<Answer | Refusal> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof MemberFault) return refusal(QME.QMEINVAL, error.message);
    throw error;
  }
}

export async function listPage(
  { engine }: NamedSpace,
  queue: Queue,
  members: Members,
): Promise<Answer | Refusal> {
  const given = criteriaIn(members, PAGE_MEMBERS);
  const { cursor, limit, dataBytes } = pageIn(members);
  const from = cursor === '' ? null : parseCursor(cursor);
  if (cursor !== '' && from === null)
    throw new MemberFault('cursor', cursor, 'what an answer of MSGLIST gave');
  engine.settle();
  const criteria = criteriaOf(engine.space.spaceId, given, engine.now());
  if (criteria === null) return foreignMsgid(engine);
  const page = await listMessages(engine, { queue, criteria, cursor: from, limit, dataBytes });
  const next = page.cursor === null ? '' : cursorText(page.cursor);
  return { members: { cursor: next }, items: page.messages.map(messageMembers), batch: page.batch };
}

export async function changeSelected(
  { engine, name }: NamedSpace,
  queue: Queue,
  members: Members,
): Promise<Answer | Refusal> {
  const given = criteriaIn(members, ACTION_MEMBERS);
  const action = actionIn(members);
  engine.settle();
  const criteria = criteriaOf(engine.space.spaceId, given, engine.now());
  if (criteria === null) return foreignMsgid(engine);
  const change = changeOf(engine, action);
  if (change === null) {
    const to = action.kind === 'move' ? action.to : '';
    return refusal(
      QME.QMEBADQUEUE,
      `there is no queue ${to} in queue space ${name}`,
      engine.space.namesBatch,
    );
  }
  if (change.kind === 'move' && change.to === queue)
    return refusal(
      QME.QMEINVAL,
      `queue: ${queue.attributes.name} is where the messages are; nothing has changed`,
    );
  return changed(await begin(engine, { queue, criteria, change }), members);
}

function begin(
  engine: SpaceEngine,
  order: { queue: Queue; criteria: Criteria; change: MessageChange },
): Promise<Changed> {
  return new Promise((done) => changeMessages(engine, { ...order, done }));
}

function changeOf(engine: SpaceEngine, action: ReturnType<typeof actionIn>): MessageChange | null {
  if (action.kind !== 'move') return action;
  const to = engine.space.queue(action.to);
  return to === undefined ? null : { kind: 'move', to };
}

function changed({ code, changed: count, held, batch }: Changed, { action }: Members): Answer | Refusal {
  if (code === QME.OK) {
    const said = count === 0 ? {} : { said: `${String(action)}: ${count} messages` };
    return { members: { changed: count, held }, batch, ...said };
  }
  const why = code === QME.QMENOSPACE ? 'the log has no room' : 'a queue was destroyed, or the daemon ends';
  return refusal(code, `stopped after ${count} messages: ${why}`, batch);
}

export function listTransactions({ engine }: NamedSpace, ports: TransactionPorts, members: Members): Answer {
  const { after = 0, limit = LIMIT.PAGE_DEFAULT, decided = false, ...others } = members;
  const [other] = Object.keys(others);
  if (other !== undefined) throw new MemberFault(other, others[other], 'the members after, limit, decided');
  if (typeof after !== 'number' || after < 0) throw new MemberFault('after', after, 'an index, or 0');
  if (typeof limit !== 'number' || limit < 1 || limit > PAGE_TRANSACTIONS)
    throw new MemberFault('limit', limit, `a number 1..${PAGE_TRANSACTIONS}`);
  if (typeof decided !== 'boolean') throw new MemberFault('decided', decided, 'true or false');
  const { branches, heuristics } = engine.space;
  const found: (Members & TransactionInfo)[] = [];
  for (const number of branches.numbers()) {
    const view = number > after ? transactionView(branches.get(number), ports) : null;
    if (view !== null) found.push(view);
    if (found.length > limit) break;
  }
  const more = found.length > limit;
  const items = more ? found.slice(0, limit) : found;
  if (decided && !more) {
    for (const { transaction, committed } of heuristics.list()) {
      const state = committed ? 'HCOMMIT' : 'HABORT';
      items.push({ index: 0, transaction: formatTransactionId(transaction), state, taken: 0, enqueued: 0 });
      if (items.length >= PAGE_TRANSACTIONS) break;
    }
  }
  return { members: { more }, items, batch: engine.journal.batch };
}

/** As many as surely fit in an answer. */
const PAGE_TRANSACTIONS = 500;

function transactionView(branch: Branch, ports: TransactionPorts): (Members & TransactionInfo) | null {
  const { number: index, prepared, ended } = branch;
  const id = prepared?.transaction ?? ports.transactionOf(branch);
  if (id === null || ended || !branch.active) return null;
  const state = prepared === null ? 'ACTIVE' : ports.isCommitted(prepared) ? 'DECIDED' : 'READY';
  const transaction = formatTransactionId(id);
  return { index, transaction, state, taken: branch.locks, enqueued: branch.pending.count };
}

/** Ends a prepared transaction's part in this space, whatever it comes to elsewhere. */
export function endTransaction(
  { engine, name }: NamedSpace,
  ports: TransactionPorts,
  members: Members,
): Answer | Refusal {
  const { index, commit, ...others } = members;
  const [other] = Object.keys(others);
  if (other !== undefined) throw new MemberFault(other, others[other], 'the members index, commit');
  if (typeof index !== 'number') throw new MemberFault('index', index ?? '', 'an index of TRANLIST');
  if (typeof commit !== 'boolean') throw new MemberFault('commit', commit ?? '', 'true or false');
  const branch = engine.prepared.list().find(({ number }) => number === index);
  if (branch === undefined || branch.prepared === null)
    return refusal(TPERRNO.TPENOENT, `queue space ${name} has no prepared transaction ${index}`);
  const { prepared } = branch;
  if (!commit && ports.isCommitted(prepared))
    return refusal(
      TPERRNO.TPEPROTO,
      `transaction ${index} is committed: that was decided, and it ends by itself`,
    );
  const { code, batch } = engine.prepared.decideHeuristically(branch, commit);
  if (code === QME.QMESHARE)
    return refusal(
      TPERRNO.TPEPROTO,
      `the other was decided for transaction ${index}, and is not done yet: ask for that`,
    );
  if (code !== QME.OK)
    return refusal(
      code,
      `the log of queue space ${name} has no room to remember the decision; nothing has changed`,
    );
  const transaction = formatTransactionId(prepared.transaction);
  const state = commit ? 'HCOMMIT' : 'HABORT';
  const said = `transaction ${transaction} ${commit ? 'committed' : 'rolled back'} here by an administrator`;
  return { members: { transaction, state }, batch, said };
}

function refusal(failure: Failure, message: string, batch: BatchNumber = 0): Refusal {
  return { failure, message, batch };
}
function foreignMsgid({ space }: SpaceEngine): Refusal {
  return refusal(QME.QMEBADMSGID, `the msgid is none of queue space ${space.name}`);
}

// The commands about messages and transactions on a space that is open in this process. Invariant: what resolved is durable. Must not know how
// the space came to be open.
import { formatTransactionId } from '../../base/transaction-id.ts';
import { QME, qmeName } from '../../../proto/codes.ts';
import { cursorText, parseCursor } from '../../engine/cursor-text.ts';
import { changeMessages as change, type Changed, type MessageChange } from '../../engine/message-change.ts';
import { listMessages as list } from '../../engine/message-list.ts';
import type { SpaceEngine } from '../../engine/space-engine.ts';
import type { Queue } from '../../queue/queue.ts';
import { criteriaOf, type Criteria } from '../../queue/selection.ts';
import {
  RefusedError,
  type ChangeCounts,
  type ChangeOrder,
  type ListOrder,
  type MessageCriteria,
  type MessagePage,
  type TransactionView,
} from '../port.ts';
import { quoteWord } from '../words.ts';

/** Whether a transaction log of this device says that the transaction was committed. */
export type IsDecided = (prepared: { transaction: TransactionIdOf; tlog: string }) => boolean;
type TransactionIdOf = Parameters<typeof formatTransactionId>[0];

export async function listMessages(engine: SpaceEngine, order: ListOrder): Promise<MessagePage> {
  engine.settle();
  const queue = queueOf(engine, order.queue);
  const cursor = order.cursor === null ? null : parseCursor(order.cursor);
  if (order.cursor !== null && cursor === null)
    throw new RefusedError(`${quoteWord(order.cursor)} is not what a listing gave to go on with`);
  const page = await list(engine, { ...order, queue, criteria: resolved(engine, order.criteria), cursor });
  await durable(engine, page.batch);
  return { messages: page.messages, cursor: page.cursor === null ? null : cursorText(page.cursor) };
}

export async function changeMessages(engine: SpaceEngine, order: ChangeOrder): Promise<ChangeCounts> {
  engine.settle();
  const queue = queueOf(engine, order.queue);
  const criteria = resolved(engine, order.criteria);
  const what: MessageChange =
    order.change.kind === 'move' ? { kind: 'move', to: queueOf(engine, order.change.to) } : order.change;
  const result = await new Promise<Changed>((done) =>
    change(engine, { queue, criteria, change: what, done }),
  );
  await durable(engine, result.batch);
  const { code, changed, held } = result;
  if (code === QME.OK) return { changed, held };
  const why = code === QME.QMENOSPACE ? 'the log has no room' : qmeName(code);
  throw new RefusedError(
    `stopped: ${why}; ${changed === 0 ? 'nothing was changed' : `${changed} messages were changed`}`,
  );
}

export function transactions(engine: SpaceEngine, isDecided: IsDecided, decided: boolean): TransactionView[] {
  const prepared = engine.prepared.list().flatMap(({ number, prepared: of }) => {
    if (of === null) return [];
    const state: TransactionView['state'] = isDecided(of) ? 'DECIDED' : 'READY';
    return [{ index: number, id: formatTransactionId(of.transaction), state }];
  });
  if (!decided) return prepared;
  const remembered = engine.space.heuristics.list().map(({ transaction, committed }): TransactionView => {
    return { index: null, id: formatTransactionId(transaction), state: committed ? 'HCOMMIT' : 'HABORT' };
  });
  return [...prepared, ...remembered];
}

export async function endTransaction(
  engine: SpaceEngine,
  isDecided: IsDecided,
  { index, committed }: { index: number; committed: boolean },
): Promise<void> {
  const branch = engine.prepared.list().find(({ number }) => number === index);
  if (branch === undefined || branch.prepared === null)
    throw new RefusedError(`there is no prepared transaction ${index}; qprinttrans lists them`);
  if (!committed && isDecided(branch.prepared)) {
    throw new RefusedError(
      `transaction ${index} is committed: the decision is in the transaction log, and the next start ends it; qcommittrans does so now`,
    );
  }
  const { code, batch } = engine.prepared.decideHeuristically(branch, committed);
  if (code === QME.QMENOSPACE)
    throw new RefusedError('the log has no room to remember the decision (1500); nothing was changed');
  if (code === QME.QMESHARE)
    throw new RefusedError(
      `the other was decided for transaction ${index}, and is not done yet: ask for that`,
    );
  if (code !== QME.OK) throw new RefusedError(`refused: ${qmeName(code)}`);
  await durable(engine, batch);
}

function queueOf({ space }: SpaceEngine, name: string): Queue {
  const queue = space.queue(name);
  if (queue !== undefined) return queue;
  throw new RefusedError(`queue space ${quoteWord(space.name)} has no queue ${quoteWord(name)}`);
}

function resolved(engine: SpaceEngine, given: MessageCriteria): Criteria {
  const criteria = criteriaOf(engine.space.spaceId, given, engine.now());
  if (criteria !== null) return criteria;
  throw new RefusedError(`the msgid of qscan is none of queue space ${quoteWord(engine.space.name)}`);
}

function durable(engine: SpaceEngine, batch: number): Promise<void> {
  const failed = 'the log could not be written: open the space again to see what is there';
  return new Promise((resolve, reject) => {
    engine.hold(batch, { released: resolve, failed: () => reject(new RefusedError(failed)) });
  });
}

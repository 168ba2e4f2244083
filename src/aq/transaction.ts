// The transaction that an AQ request is part of [spec 2.3]: the caller's, unless the request is to take effect at once.
import { DBMS_AQ } from '../../proto/aq/constants.ts';
import { QME, TPERRNO } from '../../proto/codes.ts';
import { findTransaction } from '../atmi/joins.ts';
import type { Transaction, Transactions } from '../atmi/transactions.ts';
import type { Work } from '../engine/request.ts';
import { aqFailed, type AqAsked, type AqRefused } from './asked.ts';

/** null twice: in none. */
export interface Part {
  readonly transaction: Transaction | null;
  readonly work: Work | null;
}

const NONE: Part = { transaction: null, work: null };

export function partOf(
  { client, request, space }: AqAsked,
  transactions: Transactions,
  visibility: number,
): Part | AqRefused {
  const { tx } = request;
  if (tx === 0 || visibility === DBMS_AQ.IMMEDIATE) return NONE;
  const transaction = findTransaction(client, tx);
  if (transaction === undefined) {
    if (client.committing.has(tx))
      return aqFailed(QME.QMEPROTO, `transaction ${tx} is being committed and takes no more work`);
    return aqFailed(TPERRNO.TPEPROTO, `transaction ${tx} is not open on this connection`);
  }
  if (transaction.state !== 'active')
    return aqFailed(
      TPERRNO.TPETIME,
      'the transaction timed out or failed and has been rolled back: end it with tpabort',
    );
  const work = transactions.enlist(transaction, space.engine);
  return 'failure' in work ? aqFailed(work.failure, work.message) : { transaction, work };
}

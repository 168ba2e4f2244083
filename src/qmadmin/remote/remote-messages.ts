// Orders about messages and transactions as members of ADMIN requests, and answers as qmadmin has them [PROTOCOL 6.2]. Pure. Must not know how
// requests are sent.
import { LIMIT } from '../../../proto/codes.ts';
import { isMessageInfo, isTransactionInfo, type MessageInfo } from '../../../proto/message-admin.ts';
import type { Members } from '../../../proto/message.ts';
import type { MessageView } from '../../engine/message-list.ts';
import type { GivenTime, NewValues } from '../../queue/command.ts';
import { CLOCK } from '../../queue/event.ts';
import type { ChangeOrder, ListOrder, MessageCriteria, TransactionView } from '../port.ts';
import { unexpected } from './link.ts';

/** As much data as a daemon shows of a message: more is said to be there. */
export function listMembers({ criteria, cursor, limit, dataBytes }: ListOrder): Members {
  return {
    ...criteriaMembers(criteria),
    cursor: cursor ?? '',
    limit: Math.min(limit, LIMIT.PAGE_MAX),
    dataBytes: Math.min(dataBytes, LIMIT.PEEK_BYTES),
  };
}

export function changeMembers({ criteria, change }: ChangeOrder): Members {
  const selection = criteriaMembers(criteria);
  if (change.kind === 'delete') return { ...selection, action: 'delete' };
  if (change.kind === 'move') return { ...selection, action: 'move', queue: change.to };
  return { ...selection, ...valueMembers(change.values) };
}

function valueMembers({ priority, availability, expiry }: NewValues): Members {
  if (priority !== undefined) return { action: 'priority', priority };
  if (availability !== undefined) return { action: 'time', time: momentMember(availability) };
  if (expiry === undefined) throw unexpected();
  return { action: 'expiry', expiry: expiry === 'none' ? expiry : momentMember(expiry) };
}

function criteriaMembers(criteria: MessageCriteria): Members {
  const { msgid, corrid, priority, persistent, available, expiry } = criteria;
  return {
    ...(msgid === null ? {} : { msgid: Buffer.from(msgid).toString() }),
    ...(corrid === null ? {} : { corrid: Buffer.from(corrid).toString('hex') }),
    ...(priority === null ? {} : { priorityFrom: priority.from, priorityTo: priority.to }),
    ...(persistent === null ? {} : { persistent }),
    ...(available === null
      ? {}
      : { availableFrom: momentMember(available.from), availableTo: momentMember(available.to) }),
    ...(expiry === 'none' ? { neverExpires: true } : {}),
    ...(expiry === null || expiry === 'none'
      ? {}
      : { expiresFrom: momentMember(expiry.from), expiresTo: momentMember(expiry.to) }),
  };
}

function momentMember({ clock, seconds }: GivenTime): string {
  return `${clock === CLOCK.SPACE ? '+' : ''}${seconds}`;
}

export function messageOf(members: Members): MessageView {
  if (!isMessageInfo(members)) throw unexpected();
  const { type, subtype, length, replyQos, replyqueue, failurequeue, appkey, urcode } = members;
  const data = Buffer.from(members.data.join(''), 'hex');
  return {
    msgid: Buffer.from(members.msgid),
    state: members.state,
    priority: members.priority,
    retries: members.retries,
    persistent: members.persistent,
    corrid: members.corrid === '' ? null : Buffer.from(members.corrid, 'hex'),
    availableMs: members.available < 0 ? Number.NaN : members.available,
    expiresMs: members.expires < 0 ? Infinity : members.expires,
    origin: originOf(members),
    contents: members.damaged
      ? null
      : { type, subtype, dataBytes: length, replyQos, replyqueue, failurequeue, appkey, urcode, data },
  };
}

/** What is on no error queue was never moved to one. */
function originOf({ originQueue, reason, code, moved, moves }: MessageInfo): MessageView['origin'] {
  return moves === 0 ? null : { queue: originQueue, reason, code, atMs: moved, count: moves };
}

export function transactionOf(members: Members): TransactionView {
  if (!isTransactionInfo(members)) throw unexpected();
  const { index, transaction, state } = members;
  return { index: index === 0 ? null : index, id: transaction, state };
}

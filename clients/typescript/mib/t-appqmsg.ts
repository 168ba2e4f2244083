// T_APPQMSG: the messages of a queue [spec 7.3]. There is no NEW. Invariant: everything in a request is checked before the first change is made; each
// change is durable for itself, and what was done before one that failed is said.
import { ADMIN, TPQQOS } from '../../../proto/codes.ts';
import {
  isMessageInfo,
  type MessageAction,
  type MessageInfo,
  type MessageSelection,
} from '../../../proto/message-admin.ts';
import type { Members, MemberValue } from '../../../proto/message.ts';
import { momentDigits } from '../../../proto/moment.ts';
import { type Attribute, type Attributes, illegal, MibError, type Row } from './attribute.ts';
import type { Asked, MibClass } from './asked.ts';
import { TAERROR } from './codes.ts';
import { type OpenSpace, orAbsent, type Reach, unexpected } from './reach.ts';
import { absent, SPACE_KEYS, spaceOf, spaceRow } from './t-appq.ts';
import { corridIn, corridOut, expiryIn, momentIn } from './words.ts';

const PRIORITY_RANGE = { min: 1, max: 100 };
const MOMENT: Attribute = { type: 'string', perms: 'k', key: true, min: 1, max: 16 };

const attributes: Attributes = {
  TA_APPQMSGID: { type: 'string', perms: 'r', key: true, names: true, needed: 'set', min: 1, max: 32 },
  TA_APPQNAME: { type: 'string', perms: 'r', key: true, names: true, needed: 'always', min: 1, max: 127 },
  ...SPACE_KEYS,
  TA_NEWAPPQNAME: { type: 'string', perms: 'w', min: 1, max: 127 },
  TA_PRIORITY: { type: 'long', perms: 'rw', ...PRIORITY_RANGE },
  TA_TIME: { type: 'string', perms: 'rw', min: 1, max: 16 },
  TA_EXPIRETIME: { type: 'string', perms: 'rw', max: 16 },
  TA_CORRID: { type: 'string', perms: 'r', key: true, max: 64 },
  TA_PERSISTENCE: { type: 'string', perms: 'r', key: true, words: ['PERSIST', 'NONPERSIST'] },
  TA_REPLYPERSISTENCE: { type: 'string', perms: 'r' },
  TA_LOWPRIORITY: { type: 'long', perms: 'k', key: true, ...PRIORITY_RANGE },
  TA_HIGHPRIORITY: { type: 'long', perms: 'k', key: true, ...PRIORITY_RANGE },
  TA_MSGSTARTTIME: MOMENT,
  TA_MSGENDTIME: MOMENT,
  TA_MSGEXPIRESTARTTIME: MOMENT,
  TA_MSGEXPIREENDTIME: MOMENT,
  TA_CURRETRIES: { type: 'long', perms: 'r' },
  TA_MSGSIZE: { type: 'long', perms: 'r' },
};

export const tAppqmsg: MibClass = {
  name: 'T_APPQMSG',
  attributes,
  getStates: { VAL: 'VALID' },
  setStates: { INV: 'INVALID' },
  flags: {},
  async get(asked, reach) {
    const selection = selectionOf(asked);
    const space = await spaceOf(asked, reach);
    const rows: Row[] = [];
    let cursor: MemberValue = asked.at;
    do {
      const given: Members = { ...selection, cursor, limit: asked.limit - rows.length };
      const page = await orAbsent(space.send(ADMIN.MSGLIST, asked.text('TA_APPQNAME'), given));
      if (page === null) return noneOf(asked, space);
      for (const item of page.items) {
        if (!isMessageInfo(item)) throw unexpected();
        rows.push(rowOf(item, { asked, reach }));
      }
      cursor = page.members['cursor'] ?? '';
    } while (cursor !== '' && rows.length < asked.limit);
    return { rows, next: cursor === '' ? null : String(cursor) };
  },
  async set(asked, reach) {
    const selection = { msgid: asked.text('TA_APPQMSGID') };
    const actions = actionsOf(asked);
    if (!isMsgid(selection.msgid)) throw noMessage(asked);
    const space = await spaceOf(asked, reach);
    const status = await perform(asked, { space, actions });
    const page = await orAbsent(space.send(ADMIN.MSGLIST, asked.text('TA_APPQNAME'), selection));
    const items = page?.items.filter(isMessageInfo) ?? [];
    const rows = items.map((item) => rowOf(item, { asked, reach }));
    if (actions.length === 0 && rows.length === 0) throw noMessage(asked);
    return { changed: actions.length > 0, status, rows };
  },
};

/** No message of this id, or no such queue: which is not the same. */
async function noneOf(asked: Asked, { admin }: OpenSpace): Promise<{ rows: Row[]; next: null }> {
  const queue = await orAbsent(admin.info(asked.text('TA_APPQNAME')));
  if (queue !== null) return { rows: [], next: null };
  const { message, field } = absent(asked);
  throw new MibError(TAERROR.TAEINVAL, message, { field });
}

/** Ids are opaque; those of a daemon are 32 digits. */
function isMsgid(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

function noMessage(asked: Asked): MibError {
  const text = `there is no message ${asked.text('TA_APPQMSGID')} on queue ${asked.text('TA_APPQNAME')}`;
  return new MibError(TAERROR.TAEUNIQ, text, { field: 'TA_APPQMSGID' });
}

const MOMENTS = {
  TA_MSGSTARTTIME: 'availableFrom',
  TA_MSGENDTIME: 'availableTo',
  TA_MSGEXPIRESTARTTIME: 'expiresFrom',
  TA_MSGEXPIREENDTIME: 'expiresTo',
} as const;

function selectionOf(asked: Asked): MessageSelection & Members {
  const selection: Record<string, MemberValue> = {};
  if (asked.has('TA_APPQMSGID')) {
    const msgid = asked.text('TA_APPQMSGID');
    if (!isMsgid(msgid)) throw illegal('TA_APPQMSGID', msgid, 'what a GET showed');
    selection['msgid'] = msgid;
  }
  if (asked.has('TA_CORRID')) selection['corrid'] = corridIn('TA_CORRID', asked.text('TA_CORRID'));
  if (asked.has('TA_PERSISTENCE')) selection['persistent'] = asked.text('TA_PERSISTENCE') === 'PERSIST';
  if (asked.has('TA_LOWPRIORITY')) selection['priorityFrom'] = asked.long('TA_LOWPRIORITY');
  if (asked.has('TA_HIGHPRIORITY')) selection['priorityTo'] = asked.long('TA_HIGHPRIORITY');
  for (const [field, member] of Object.entries(MOMENTS)) {
    if (asked.has(field)) selection[member] = momentIn(field, asked.text(field));
  }
  return selection;
}

interface FieldAction {
  readonly field: string;
  readonly action: MessageAction;
}

/** In the order in which they are done: a message that is moved has another id. */
function actionsOf(asked: Asked): FieldAction[] {
  if (asked.state === 'INV') return [{ field: 'TA_STATE', action: { action: 'delete' } }];
  const actions: FieldAction[] = [];
  if (asked.has('TA_PRIORITY'))
    actions.push({
      field: 'TA_PRIORITY',
      action: { action: 'priority', priority: asked.long('TA_PRIORITY') },
    });
  if (asked.has('TA_TIME'))
    actions.push({
      field: 'TA_TIME',
      action: { action: 'time', time: momentIn('TA_TIME', asked.text('TA_TIME')) },
    });
  if (asked.has('TA_EXPIRETIME')) {
    const expiry = expiryIn('TA_EXPIRETIME', asked.text('TA_EXPIRETIME'));
    actions.push({ field: 'TA_EXPIRETIME', action: { action: 'expiry', expiry } });
  }
  if (asked.has('TA_NEWAPPQNAME'))
    actions.push({
      field: 'TA_NEWAPPQNAME',
      action: { action: 'move', queue: asked.text('TA_NEWAPPQNAME') },
    });
  return actions;
}

async function perform(
  asked: Asked,
  { space, actions }: { space: OpenSpace; actions: readonly FieldAction[] },
): Promise<string> {
  const [queue, msgid] = [asked.text('TA_APPQNAME'), asked.text('TA_APPQMSGID')];
  const done: string[] = [];
  for (const { field, action } of actions) {
    try {
      const { changed, held } = await space.admin.changeMessages(queue, { msgid }, action);
      if (held > 0) throw new MibError(TAERROR.TAEPROTO, 'a transaction holds the message', { field });
      if (changed === 0) throw noMessage(asked);
    } catch (error) {
      if (!(error instanceof MibError)) throw error;
      const before = done.length === 0 ? '' : `; before that ${done.join(', ')} was set`;
      // A msgid of another space, a queue that is not there.
      const isNone = error.isAbsent && field !== 'TA_NEWAPPQNAME';
      const code = isNone ? TAERROR.TAEUNIQ : error.code;
      throw new MibError(code, `${error.message}${before}`, { field: error.field || field, cause: error });
    }
    done.push(field);
  }
  if (done.length === 0) return 'nothing was to be changed';
  return asked.state === 'INV' ? 'the message was deleted' : `set: ${done.join(', ')}`;
}

const REPLY_QOS: Readonly<Record<number, string>> = {
  [TPQQOS.TPQQOSPERSISTENT]: 'PERSIST',
  [TPQQOS.TPQQOSNONPERSISTENT]: 'NONPERSIST',
};

/** Sizes of a message that cannot be read are not known. */
function rowOf(info: MessageInfo, { asked, reach }: { asked: Asked; reach: Reach }): Row {
  return {
    TA_APPQMSGID: info.msgid,
    TA_APPQNAME: asked.text('TA_APPQNAME'),
    ...spaceRow(asked, reach),
    TA_STATE: 'VAL',
    TA_PRIORITY: info.priority,
    TA_TIME: info.available < 0 ? '' : momentDigits(info.available),
    TA_EXPIRETIME: info.expires < 0 ? '' : momentDigits(info.expires),
    TA_CORRID: corridOut(info.corrid),
    TA_PERSISTENCE: info.persistent ? 'PERSIST' : 'NONPERSIST',
    TA_REPLYPERSISTENCE: REPLY_QOS[info.replyQos] ?? 'DEFAULT',
    TA_CURRETRIES: info.retries,
    TA_MSGSIZE: info.damaged ? -1 : info.length,
  };
}

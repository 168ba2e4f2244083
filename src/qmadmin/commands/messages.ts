// Which messages are meant, and looking at them: qset, qscan, qlist, and qpeek beyond Tuxedo [spec 5.2, 5.7].
import { LIMIT } from '../../../proto/codes.ts';
import type { MessageView } from '../../engine/message-list.ts';
import type { Range, TimeRange } from '../../queue/selection.ts';
import type { Parsed } from '../../queue/words.ts';
import { command, FLAG, type Selected, type Shell } from '../command.ts';
import { bodyLines, plainText } from '../body.ts';
import { printJson, widthsRow } from '../listing.ts';
import { RefusedError, type MessageCriteria, type SpacePort } from '../port.ts';
import { givenText, momentText, parseExpiryMoments, parseMoments } from '../times.ts';
import { LONG_MAX, number, policy, queueName } from '../values.ts';
import { quoteWord } from '../words.ts';
import { openSpaceOf } from './space.ts';

const PAGE_MESSAGES = 200;
const PEEK_MESSAGES = 10;
const PEEK_BYTES = 4096;
const EVERYTHING: MessageCriteria = {
  msgid: null,
  corrid: null,
  priority: null,
  persistent: null,
  available: null,
  expiry: null,
};

/** What qset and qscan said in this space. */
function selectedIn(shell: Shell): Selected {
  const space = openSpaceOf(shell);
  const { selected } = shell;
  return selected?.space === space ? selected : { space, queue: null, criteria: EVERYTHING };
}

/** The messages that a command about messages means. */
export function meantBy(shell: Shell): { space: SpacePort; queue: string; criteria: MessageCriteria } {
  const { space, queue, criteria } = selectedIn(shell);
  if (queue === null) throw new RefusedError('no queue is set; first: qset QUEUE');
  return { space, queue, criteria };
}

/** That there was nothing to do is no failure. */
export function sayNothingMatches(shell: Shell, queue: string, code: number): void {
  if (shell.json) shell.tell(`no message of queue ${quoteWord(queue)} is selected (${code})`);
  else shell.print(`no message of queue ${quoteWord(queue)} is selected (${code})`);
}

export const qset = command<{ name: string }, object>({
  name: 'qset',
  abbreviations: ['qs'],
  summary: 'set the queue of the open space whose messages the following commands mean',
  arguments: { name: { subject: 'queue name', parse: queueName } },
  options: {},
  async run(shell, { name }) {
    const selected = selectedIn(shell);
    // It is refused when there is no such queue.
    const first = { criteria: EVERYTHING, cursor: null, limit: 1, dataBytes: 0 };
    await selected.space.listMessages({ queue: name, ...first });
    shell.selected = { ...selected, queue: name };
    shell.tell(`queue ${quoteWord(name)} is set`);
  },
});

interface ScanOptions {
  readonly t?: TimeRange;
  readonly p?: Range;
  readonly m?: string;
  readonly i?: Uint8Array;
  readonly d?: 'persist' | 'nonpersist';
  readonly e?: TimeRange | 'none';
}

export const qscan = command<{ none?: true }, ScanOptions>({
  name: 'qscan',
  abbreviations: ['qsc'],
  summary:
    'select messages by criteria, all of which must match; none: all messages; without both: show the criteria',
  arguments: {
    none: {
      subject: 'none',
      omittable: true,
      parse: (word) =>
        word === 'none' ? { ok: true, value: true } : { ok: false, legal: 'none, or options' },
    },
  },
  options: {
    t: { subject: 'time1[-time2]', parse: parseMoments },
    p: { subject: 'prio1[-prio2]', parse: priorities },
    m: { subject: 'msgid', parse: msgid },
    i: { subject: 'corrid', parse: corrid },
    d: { subject: 'persist|nonpersist', parse: policy },
    e: { subject: 'time1[-time2]|none', parse: parseExpiryMoments },
  },
  run(shell, { none }, options) {
    const selected = selectedIn(shell);
    const { t, p, m, i, d, e } = options;
    const isGiven = Object.keys(options).length > 0;
    if (none === true && isGiven) throw new RefusedError('none clears the criteria: it stands alone');
    if (none === true) shell.selected = { ...selected, criteria: EVERYTHING };
    if (isGiven) {
      const criteria: MessageCriteria = {
        msgid: m === undefined ? null : Buffer.from(m),
        corrid: i ?? null,
        priority: p ?? null,
        persistent: d === undefined ? null : d === 'persist',
        available: t ?? null,
        expiry: e ?? null,
      };
      shell.selected = { ...selected, criteria };
    }
    if (none !== true && !isGiven) showCriteria(shell, selected);
  },
});

function showCriteria(shell: Shell, { queue, criteria }: Selected): void {
  const { msgid: id, corrid: given, priority, persistent, available, expiry } = criteria;
  const rows: Record<string, string | null> = {
    queue: queue === null ? null : quoteWord(queue),
    time: available === null ? null : momentsText(available),
    priority: priority === null ? null : `${priority.from}-${priority.to}`,
    msgid: id === null ? null : Buffer.from(id).toString(),
    corrid: given === null ? null : corridText(given),
    qos: persistent === null ? null : qosText(persistent),
    expiry: expiry === null || expiry === 'none' ? expiry : momentsText(expiry),
  };
  if (shell.json) printJson(shell, { ...rows, queue });
  else for (const [name, value] of Object.entries(rows)) shell.print(`${name}: ${value ?? 'any'}`);
}

function momentsText({ from, to }: TimeRange): string {
  return `${givenText(from)}-${givenText(to)}`;
}

const COLUMNS = [
  ['MSGID', 32],
  ['PRIO', 4],
  ['RETRIES', 7],
  ['LENGTH', 8],
  ['QOS', 10],
  ['REPLYQOS', 10],
  ['EXPIRES', 19],
  ['AVAILABLE', 19],
  ['STATE', 7],
] as const;
const MORE = [
  ['ORIGIN', 15],
  ['REASON', 15],
  ['CODE', 10],
  ['MOVED', 19],
  ['MOVES', 5],
] as const;
const MORE_COLUMNS = [...MORE.map(([name]) => name), 'CORRID'];
const WIDTHS = [...COLUMNS, ...MORE].map(([, width]) => width);

export const qlist = command<object, object>({
  name: 'qlist',
  abbreviations: ['ql'],
  summary:
    'list the selected messages of the set queue in its order; verbose adds the corrid, and why a message is on the error queue',
  arguments: {},
  options: {},
  async run(shell) {
    const meant = meantBy(shell);
    const { verbose, json } = shell;
    let count = 0;
    for await (const view of messagesOf(shell, { ...meant, limit: Infinity, dataBytes: 0, cursor: null })) {
      const names = COLUMNS.map(([name]) => name);
      if (count === 0 && !json) shell.print(widthsRow(verbose ? [...names, ...MORE_COLUMNS] : names, WIDTHS));
      count++;
      if (json) printJson(shell, fieldsOf(view));
      else shell.print(widthsRow(verbose ? [...cellsOf(view), ...moreCells(view)] : cellsOf(view), WIDTHS));
    }
    if (count === 0) sayNothingMatches(shell, meant.queue, 1401);
  },
});

export const qpeek = command<{ count?: number; cursor?: string }, { x?: boolean; b?: number }>({
  name: 'qpeek',
  abbreviations: ['qpk'],
  summary:
    'show the data of the selected messages, 10 or so many, as text or with -x in hexadecimal; a cursor goes on',
  arguments: {
    count: { subject: 'count', omittable: true, parse: number(1, LONG_MAX) },
    cursor: { subject: 'cursor', omittable: true, parse: (value) => ({ ok: true, value }) },
  },
  options: { x: FLAG, b: { subject: 'bytes', parse: number(1, LONG_MAX) } },
  async run(shell, { count = PEEK_MESSAGES, cursor }, { x = false, b = PEEK_BYTES }) {
    const meant = meantBy(shell);
    const walk = messagesOf(shell, { ...meant, limit: count, dataBytes: b, cursor: cursor ?? null });
    let shown = 0;
    for (;;) {
      const { done, value } = await walk.next();
      if (done === true) {
        if (shown === 0) sayNothingMatches(shell, meant.queue, 1401);
        else if (value !== null) sayMore(shell, count, value);
        return;
      }
      shown++;
      if (shell.json) printJson(shell, { ...fieldsOf(value), ...dataFields(value, x) });
      else for (const line of peekLines(value, x)) shell.print(line);
    }
  },
});

function sayMore(shell: Shell, count: number, cursor: string): void {
  if (shell.json) printJson(shell, { more: cursor });
  else shell.print(`more: qpeek ${count} ${cursor}`);
}

interface Walk {
  readonly space: SpacePort;
  readonly queue: string;
  readonly criteria: MessageCriteria;
  readonly limit: number;
  readonly dataBytes: number;
  readonly cursor: string | null;
}

/** Page after page, until the operator breaks it off; returns where the next message is, or null. */
async function* messagesOf(shell: Shell, walk: Walk): AsyncGenerator<MessageView, string | null> {
  const { space, queue, criteria, dataBytes } = walk;
  let { cursor } = walk;
  for (let left = walk.limit; left > 0;) {
    const limit = Math.min(left, dataBytes > 0 ? PEEK_MESSAGES : PAGE_MESSAGES);
    const page = await space.listMessages({ queue, criteria, cursor, limit, dataBytes });
    yield* page.messages;
    left -= page.messages.length;
    ({ cursor } = page);
    if (cursor === null || (await shell.isBroken())) return null;
  }
  return cursor;
}

function cellsOf(view: MessageView): string[] {
  const { contents } = view;
  return [
    Buffer.from(view.msgid).toString(),
    String(view.priority),
    String(view.retries),
    contents === null ? 'damaged' : String(contents.dataBytes),
    qosText(view.persistent),
    contents === null ? '-' : replyQosText(contents.replyQos),
    view.expiresMs === Infinity ? '-' : momentText(view.expiresMs),
    Number.isNaN(view.availableMs) ? '-' : momentText(view.availableMs),
    view.state,
  ];
}

function moreCells(view: MessageView): string[] {
  const { origin } = view;
  const cells =
    origin === null
      ? ['-', '-', '-', '-', '0']
      : [
          quoteWord(origin.queue),
          origin.reason,
          origin.code === '' ? '-' : origin.code,
          momentText(origin.atMs),
          String(origin.count),
        ];
  return [...cells, corridCell(view)];
}

function corridCell({ corrid: given }: MessageView): string {
  return given === null ? '-' : quoteWord(corridText(given));
}

function fieldsOf(view: MessageView): Record<string, unknown> {
  const { contents, origin, corrid: given } = view;
  return {
    msgid: Buffer.from(view.msgid).toString(),
    priority: view.priority,
    retries: view.retries,
    length: contents?.dataBytes ?? null,
    qos: qosText(view.persistent),
    replyqos: contents === null ? null : replyQosText(contents.replyQos),
    expires: view.expiresMs === Infinity ? null : new Date(view.expiresMs).toISOString(),
    available: Number.isNaN(view.availableMs) ? null : new Date(view.availableMs).toISOString(),
    state: view.state,
    origin:
      origin === null ? null : { ...origin, atMs: undefined, moved: new Date(origin.atMs).toISOString() },
    corrid: given === null ? null : corridText(given),
  };
}

function dataFields({ contents }: MessageView, isHex: boolean): Record<string, unknown> {
  if (contents === null) return { damaged: true };
  const { type, subtype, replyqueue, failurequeue, appkey, urcode, data, dataBytes } = contents;
  const text = isHex ? null : plainText(data);
  const shown = text === null ? { hex: Buffer.from(data).toString('hex') } : { data: text };
  const about = { type, subtype, replyqueue, failurequeue, appkey, urcode };
  return { ...about, ...shown, truncated: data.length < dataBytes };
}

function* peekLines(view: MessageView, isHex: boolean): Generator<string> {
  const { contents } = view;
  const [id = '', priority = ''] = cellsOf(view);
  if (contents === null) {
    yield `${id}: damaged`;
    return;
  }
  const { type, subtype, dataBytes, data, replyqueue, failurequeue } = contents;
  const queues = [
    ...(replyqueue === '' ? [] : [`reply queue ${quoteWord(replyqueue)}`]),
    ...(failurequeue === '' ? [] : [`failure queue ${quoteWord(failurequeue)}`]),
    ...(view.corrid === null ? [] : [`corrid ${corridCell(view)}`]),
  ];
  const kind =
    type === '' ? 'no data' : `${quoteWord(type)}${subtype === '' ? '' : ` ${quoteWord(subtype)}`}`;
  yield [`${id}: ${kind}`, `${dataBytes} bytes`, `priority ${priority}`, ...queues].join(', ');
  yield* bodyLines(data, isHex);
  if (data.length < dataBytes) yield `  … ${dataBytes - data.length} more bytes`;
}

function qosText(isPersistent: boolean): string {
  return isPersistent ? 'PERSIST' : 'NONPERSIST';
}
function replyQosText(qos: number): string {
  return ['DEFAULT', 'DEFAULT', 'PERSIST', 'DEFAULT', 'NONPERSIST'][qos] ?? 'DEFAULT';
}

/** Its text without the NUL bytes that fill it up when it is printable, else `0x…`. */
function corridText(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString('latin1').replace(/\0+$/, '');
  const isPlain = /^[\x20-\x7e]+$/.test(text) && !text.startsWith('0x');
  return isPlain ? text : `0x${Buffer.from(bytes).toString('hex')}`;
}

function corrid(word: string): Parsed<Uint8Array> {
  const bytes = new Uint8Array(LIMIT.TMCORRIDLEN);
  const hex = /^0x((?:[0-9a-fA-F]{2})+)$/.exec(word)?.[1];
  const given = hex === undefined ? Buffer.from(word) : Buffer.from(hex, 'hex');
  if (given.length === 0 || given.length > bytes.length)
    return { ok: false, legal: `1..${bytes.length} bytes as text, or 0x and as many in hexadecimal digits` };
  bytes.set(given);
  return { ok: true, value: bytes };
}

function msgid(word: string): Parsed<string> {
  if (/^[0-9a-f]{32}$/.test(word)) return { ok: true, value: word };
  return { ok: false, legal: 'a msgid as qlist shows it: 32 hexadecimal digits' };
}

function priorities(word: string): Parsed<Range> {
  const match = /^(\d{1,3})(?:-(\d{1,3}))?$/.exec(word);
  const from = Number(match?.[1]);
  const to = Number(match?.[2] ?? match?.[1]);
  if (from >= 1 && from <= to && to <= 100) return { ok: true, value: { from, to } };
  return { ok: false, legal: 'prio1[-prio2], each 1..100, the lower one first' };
}

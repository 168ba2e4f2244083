// Pages of a queue's messages for an administrator [spec 5.2]: what the rows know of each, what only its record knows, and its data if wanted.
// Nothing is taken or held meanwhile. Invariant: a page looks at a bounded number of messages, so it may be empty and have more behind it.
import { NONE } from '../base/column.ts';
import { MEMORY_REF } from '../queue/event.ts';
import { msgidBytes } from '../queue/message.ts';
import { codeName, reasonWord, type Provenance } from '../queue/provenance.ts';
import type { Queue } from '../queue/queue.ts';
import { availableAt, expiresAt, matches, type Criteria } from '../queue/selection.ts';
import { ENTRY } from '../queue/tables.ts';
import { LIST_STAGES, Walk, type Cursor } from '../queue/walk.ts';
import { describeMessage, EVENT_BYTES, isIntact } from './message-record.ts';
import type { BatchNumber } from './request.ts';
import type { SpaceEngine } from './space-engine.ts';

/** Messages looked at for a page: a few milliseconds. */
const LOOKED_AT_MAX = 1000;
/** Bytes of records that are read for a page, but for its first message. */
const RECORD_BYTES_MAX = 1024 * 1024;

export type MessageState = 'ready' | 'delayed' | 'held';

/** What is in its record. */
export interface Contents {
  readonly type: string;
  readonly subtype: string;
  readonly dataBytes: number;
  readonly replyQos: number;
  readonly replyqueue: string;
  readonly failurequeue: string;
  readonly appkey: number;
  readonly urcode: number;
  /** Of its data as much as was asked for. */
  readonly data: Uint8Array;
}

/** Where a message came from that was moved to the error queue. */
export interface Origin {
  readonly queue: string;
  /** Its words are those of qredrive. */
  readonly reason: string;
  /** Name of the tperrno or diagnostic that goes with it; '': none. */
  readonly code: string;
  /** Wall instant of the move. */
  readonly atMs: number;
  /** How often it has been moved to an error queue. */
  readonly count: number;
}

export interface MessageView {
  /** 32 bytes. */
  readonly msgid: Uint8Array;
  readonly state: MessageState;
  readonly priority: number;
  readonly retries: number;
  readonly persistent: boolean;
  readonly corrid: Uint8Array | null;
  /** Wall instants; NaN: it has no times. Infinity: never. */
  readonly availableMs: number;
  readonly expiresMs: number;
  /** What the error queue knows of it; null: nothing. */
  readonly origin: Origin | null;
  /** null: its record is damaged or cannot be read. */
  readonly contents: Contents | null;
}

export interface PageOrder {
  readonly queue: Queue;
  readonly criteria: Criteria;
  /** null: from the beginning. */
  readonly cursor: Cursor | null;
  /** Messages at most, 1 or more. */
  readonly limit: number;
  /** Bytes of the data of each message that are wanted. */
  readonly dataBytes: number;
}

export interface Page {
  readonly messages: readonly MessageView[];
  /** null: there is nothing behind it. */
  readonly cursor: Cursor | null;
  /** Wait for it before telling. */
  readonly batch: BatchNumber;
}

/** The page as the queue is now; only what records say is read from the log afterwards. */
export async function listMessages(engine: SpaceEngine, order: PageOrder): Promise<Page> {
  const { queue } = order;
  const found: Promise<MessageView>[] = [];
  const cursor =
    order.criteria.msgid === null ? walkPage(engine, order, found) : onlyOne(engine, order, found);
  const batch = queue.lastBatch;
  return { messages: await Promise.all(found), cursor, batch };
}

function onlyOne(engine: SpaceEngine, order: PageOrder, found: Promise<MessageView>[]): null {
  const { space } = engine;
  const { msgid } = order.criteria;
  const entry = msgid === null ? NONE : space.entryOf(order.queue, msgid);
  const isThere = entry !== NONE && space.entries.state.get(entry) !== ENTRY.PENDING;
  if (
    isThere &&
    order.cursor === null &&
    matches(space, entry, { criteria: order.criteria, now: engine.now() })
  )
    found.push(viewOf(engine, entry, order.dataBytes));
  return null;
}

function walkPage(engine: SpaceEngine, order: PageOrder, found: Promise<MessageView>[]): Cursor | null {
  const { space } = engine;
  const { queue, criteria, cursor, limit, dataBytes } = order;
  const by = { criteria, now: engine.now() };
  const walk = new Walk(space, queue, { stages: LIST_STAGES, cursor });
  let bytes = 0;
  for (let looked = 0; looked < LOOKED_AT_MAX && found.length < limit && bytes < RECORD_BYTES_MAX; looked++) {
    const entry = walk.next();
    if (entry === NONE) return null;
    if (space.entries.queue.get(entry) !== queue.number || !matches(space, entry, by)) continue;
    bytes += wantedBytes(space.messages.length.get(space.entries.message.get(entry)), dataBytes);
    found.push(viewOf(engine, entry, dataBytes));
  }
  return walk.cursor();
}

const STATES: Readonly<Record<number, MessageState>> = { [ENTRY.READY]: 'ready', [ENTRY.DELAYED]: 'delayed' };

async function viewOf(engine: SpaceEngine, entry: number, dataBytes: number): Promise<MessageView> {
  const { space } = engine;
  const { entries, messages } = space;
  const view = {
    msgid: msgidBytes(space.spaceId, space.id(entry)),
    state: STATES[entries.state.get(entry)] ?? 'held',
    priority: messages.priority.get(entries.message.get(entry)),
    retries: entries.retries.get(entry),
    persistent: space.isPersistent(entry),
    corrid: space.corridOf(entry)?.slice() ?? null,
    availableMs: availableAt(space, entry, engine.now()),
    expiresMs: expiresAt(space, entry),
    origin: originOf(space.provenanceOf(entry)),
  };
  return { ...view, contents: await contentsOf(engine, entry, dataBytes) };
}

function originOf(provenance: Provenance | null): Origin | null {
  if (provenance === null) return null;
  const { name: queue, reason, code, atMs, count } = provenance;
  return { queue, reason: reasonWord(reason), code: codeName(code), atMs, count };
}

/** Its reading has begun when this returns: a log that is reclaimed keeps what is being read. */
async function contentsOf(engine: SpaceEngine, entry: number, dataBytes: number): Promise<Contents | null> {
  const { messages, entries, memory } = engine.space;
  const message = entries.message.get(entry);
  const ref = messages.ref.get(message);
  const offset = messages.offset.get(message);
  const length = messages.length.get(message);
  const wanted = wantedBytes(length, dataBytes);
  try {
    if (ref === MEMORY_REF) return contents(memory.get(offset, length), length, dataBytes);
    const cached = engine.journal.cached(ref, offset, wanted);
    return contents(cached ?? (await engine.journal.read(ref, offset, wanted)), length, dataBytes);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    engine.warn(`reading a message for a list failed: ${reason}`, {});
    return null;
  }
}

/** Bytes of its record that are read: all of it when its data is wanted, which is then checked. */
function wantedBytes(length: number, dataBytes: number): number {
  return dataBytes > 0 ? length : Math.min(length, EVENT_BYTES);
}

/** null: it is damaged. */
function contents(record: Uint8Array, length: number, wanted: number): Contents | null {
  if (record.length === length && !isIntact(record)) return null;
  const { properties, dataBytes } = describeMessage(record, length);
  const { type, subtype, replyQos, replyqueue, failurequeue, appkey, urcode } = properties;
  const data = record.slice(length - dataBytes, length - dataBytes + wanted);
  return { type, subtype, dataBytes, replyQos, replyqueue, failurequeue, appkey, urcode, data };
}

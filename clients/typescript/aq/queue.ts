// A queue of the AQ dialect, with the names that Node programs know from their Oracle driver. Options are objects that a program sets once.
// Invariant: "nothing there" is undefined or an empty array, every other failure an AqError.
import { DBMS_AQ } from '../../../proto/aq/constants.ts';
import { AQ } from '../../../proto/aq/verbs.ts';
import type { MemberValue } from '../../../proto/message.ts';
import type { AskAq } from './aq.ts';
import { AqError } from './error.ts';
import { itemOf, messageOf, type AqMessage, type AqMessageOptions } from './message.ts';

const NO_MESSAGE = 25_228;
/** Longer waits have to be asked for [oracle-aq 13]. */
const WAIT_S = 30;

/** [oracle-aq 2.7] */
export interface EnqOptions {
  /** DBMS_AQ.ON_COMMIT or IMMEDIATE; outside a transaction there is no difference. */
  visibility: number;
  deliveryMode: number;
  /** DBMS_AQ.BEFORE or TOP. */
  sequenceDeviation: number | undefined;
  /** Of the message that BEFORE means. */
  relativeMsgId: Uint8Array | undefined;
}

/** [oracle-aq 2.8] */
export interface DeqOptions {
  /** Of a multi-consumer queue. */
  consumerName: string | undefined;
  mode: number;
  navigation: number;
  visibility: number;
  /** Seconds, DBMS_AQ.NO_WAIT or FOREVER; default 30. */
  wait: number;
  deliveryMode: number;
  /** At most one of these three. */
  msgId: Uint8Array | undefined;
  correlation: string | undefined;
  condition: string | undefined;
  /** `%` and `_` in the correlation stand for themselves. */
  exactCorrelation: boolean;
}

interface Extras {
  readonly signal?: AbortSignal | undefined;
}

export class AqQueue {
  readonly name: string;
  readonly enqOptions: EnqOptions = {
    visibility: DBMS_AQ.ON_COMMIT,
    deliveryMode: DBMS_AQ.PERSISTENT,
    sequenceDeviation: undefined,
    relativeMsgId: undefined,
  };
  readonly deqOptions: DeqOptions = {
    consumerName: undefined,
    mode: DBMS_AQ.REMOVE,
    navigation: DBMS_AQ.NEXT_MESSAGE,
    visibility: DBMS_AQ.ON_COMMIT,
    wait: WAIT_S,
    deliveryMode: DBMS_AQ.PERSISTENT,
    msgId: undefined,
    correlation: undefined,
    condition: undefined,
    exactCorrelation: false,
  };
  private readonly qspace: string;
  private readonly ask: AskAq;

  constructor(qspace: string, name: string, ask: AskAq) {
    this.qspace = qspace;
    this.name = name;
    this.ask = ask;
  }

  /**
   * Enqueues one message: a string, bytes, or an object with `payload` and properties. Resolves with its id when it is durable, or, in a
   * transaction, when it is part of that.
   */
  async enqOne(message: string | Uint8Array | AqMessageOptions, extras: Extras = {}): Promise<Buffer> {
    const [id] = await this.enqMany([message], extras);
    return id ?? Buffer.alloc(0);
  }

  /** Enqueues several, all or none. */
  async enqMany(
    messages: readonly (string | Uint8Array | AqMessageOptions)[],
    { signal }: Extras = {},
  ): Promise<Buffer[]> {
    const { visibility, deliveryMode, sequenceDeviation, relativeMsgId } = this.enqOptions;
    const members: Record<string, MemberValue> = { visibility, deliveryMode };
    if (sequenceDeviation !== undefined) members['sequenceDeviation'] = sequenceDeviation;
    if (relativeMsgId !== undefined) members['relativeMsgid'] = hexOf(relativeMsgId);
    const items = messages.map((message) =>
      itemOf(typeof message === 'string' || message instanceof Uint8Array ? { payload: message } : message),
    );
    const { qspace, name: qname } = this;
    const asked = { operation: 'enq', verb: AQ.ENQUEUE, qspace, qname, members, items, signal };
    const { msgids } = (await this.ask(asked)).members;
    return Array.isArray(msgids) ? msgids.map((hex: string) => Buffer.from(hex, 'hex')) : [];
  }

  /** Dequeues one; undefined: there was none in the time of `deqOptions.wait`. */
  async deqOne(extras: Extras = {}): Promise<AqMessage | undefined> {
    const [message] = await this.dequeue(undefined, extras);
    return message;
  }

  /** Dequeues what there is, at most so many; waits only while there is nothing. */
  deqMany(maxMessages: number, extras: Extras = {}): Promise<AqMessage[]> {
    return this.dequeue(maxMessages, extras);
  }

  private async dequeue(arraySize: number | undefined, { signal }: Extras): Promise<AqMessage[]> {
    const { mode, msgId, ...options } = this.deqOptions;
    const members: Record<string, MemberValue> = { dequeueMode: mode };
    const all = { ...options, arraySize, msgid: msgId === undefined ? undefined : hexOf(msgId) };
    for (const [name, value] of Object.entries(all)) if (value !== undefined) members[name] = value;
    const { qspace, name: qname } = this;
    try {
      const asked = { operation: 'deq', verb: AQ.DEQUEUE, qspace, qname, members, items: [], signal };
      return (await this.ask(asked)).items.map(messageOf);
    } catch (error) {
      if (AqError.is(error) && error.errorNum === NO_MESSAGE) return [];
      throw error;
    }
  }
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

// Messages of the AQ dialect as values, and as the members of a frame [oracle-aq 2.6].
import type { AqItem } from '../../../proto/aq/message.ts';
import type { MemberValue } from '../../../proto/message.ts';
import { fromWire, toWire } from '../buffer.ts';

/** An agent, or the name of one [oracle-aq 2.1]. */
export type AqAgentLike =
  | string
  | {
      readonly name?: string | undefined;
      readonly address?: string | undefined;
      readonly protocol?: number | undefined;
    };

/** What can be said of a message that is enqueued. Times are seconds. */
export interface AqMessageOptions {
  /** Bytes or a string for a RAW queue; any other value is JSON. */
  readonly payload?: unknown;
  /** The smaller, the earlier; default 1. */
  readonly priority?: number | undefined;
  readonly delay?: number | undefined;
  /** From when it is READY on; default DBMS_AQ.NEVER. */
  readonly expiration?: number | undefined;
  /** At most 128 bytes. */
  readonly correlation?: string | undefined;
  readonly exceptionQueue?: string | undefined;
  /** Instead of the subscribers. */
  readonly recipients?: readonly AqAgentLike[] | undefined;
  readonly sender?: AqAgentLike | undefined;
  readonly originalMsgId?: Uint8Array | undefined;
  /** Any value that JSON can express, at most 4,000 bytes of it. */
  readonly userProperty?: unknown;
}

/** A message that was dequeued. */
export interface AqMessage {
  readonly payload: unknown;
  readonly msgId: Buffer;
  readonly priority: number;
  readonly delay: number;
  readonly expiration: number;
  readonly correlation: string | undefined;
  /** Failed attempts so far. */
  readonly numAttempts: number;
  readonly enqTime: Date;
  /** DBMS_AQ.READY, WAITING, PROCESSED, EXPIRED. */
  readonly state: number;
  readonly deliveryMode: number;
  readonly exceptionQueue: string | undefined;
  readonly originalMsgId: Buffer | undefined;
  readonly sender: { readonly name: string; readonly address: string; readonly protocol: number } | undefined;
  readonly userProperty: unknown;
  /** Of messages of deqMany: equal for those of one transaction group. */
  readonly transactionGroup: string | undefined;
  /** Of a message in an exception queue: where it came from, and why. */
  readonly originalQueue: string | undefined;
  readonly expirationReason: string | undefined;
}

type Given = Record<string, MemberValue>;

export function itemOf(message: AqMessageOptions): AqItem {
  const { recipients, sender, originalMsgId, userProperty, payload = null, ...plain } = message;
  const members: Given = {};
  for (const [name, value] of Object.entries(plain)) if (value !== undefined) members[name] = value;
  if (recipients !== undefined) {
    const agents = recipients.map(agentOf);
    members['recipients'] = agents.map(({ name }) => name);
    if (agents.some(({ address }) => address !== ''))
      members['recipientAddresses'] = agents.map(({ address }) => address);
    if (agents.some(({ protocol }) => protocol !== 0))
      members['recipientProtocols'] = agents.map(({ protocol }) => String(protocol));
  }
  if (sender !== undefined) {
    const { name, address, protocol } = agentOf(sender);
    Object.assign(members, { senderName: name, senderAddress: address, senderProtocol: protocol });
  }
  if (originalMsgId !== undefined) members['originalMsgid'] = Buffer.from(originalMsgId).toString('hex');
  if (userProperty !== undefined) members['userProperty'] = JSON.stringify(userProperty);
  return { members, body: toWire(payload) };
}

export function agentOf(agent: AqAgentLike): { name: string; address: string; protocol: number } {
  if (typeof agent === 'string') return { name: agent, address: '', protocol: 0 };
  const { name = '', address = '', protocol = 0 } = agent;
  return { name, address, protocol };
}

export function messageOf({ members, body }: AqItem): AqMessage {
  const text = (name: string): string | undefined => {
    const value = members[name];
    return typeof value === 'string' ? value : undefined;
  };
  const number = (name: string): number => Number(members[name] ?? 0);
  const bytes = (name: string): Buffer | undefined => {
    const hex = text(name);
    return hex === undefined ? undefined : Buffer.from(hex, 'hex');
  };
  const senderName = text('senderName');
  const userProperty = text('userProperty');
  return {
    payload: fromWire(body).data,
    msgId: bytes('msgid') ?? Buffer.alloc(0),
    priority: number('priority'),
    delay: number('delay'),
    expiration: number('expiration'),
    correlation: text('correlation'),
    numAttempts: number('attempts'),
    enqTime: new Date(number('enqueueTime')),
    state: number('state'),
    deliveryMode: number('deliveryMode'),
    exceptionQueue: text('exceptionQueue'),
    originalMsgId: bytes('originalMsgid'),
    sender:
      senderName === undefined
        ? undefined
        : { name: senderName, address: text('senderAddress') ?? '', protocol: number('senderProtocol') },
    userProperty: userProperty === undefined ? undefined : (JSON.parse(userProperty) as unknown),
    transactionGroup: text('transactionGroup'),
    originalQueue: text('originalQueue'),
    expirationReason: text('expirationReason'),
  };
}

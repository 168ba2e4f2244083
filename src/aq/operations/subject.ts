// A message as conditions see it [oracle-aq 8]: on its way in, and as it is queued.
import type { Subject } from '../../conditions/evaluate.ts';
import type { Value } from '../../conditions/expression.ts';
import type { AqMessage } from '../../engine/aq/request.ts';
import type { AqProperties } from '../../queue/message.ts';
import { aqMsgid } from '../msgid.ts';
import { parsed } from './payload.ts';

const DEFAULT_PRIORITY = 1;
const NEVER = -1;

/** Of a message that is about to be enqueued. */
export function subjectOf(aq: AqProperties, { type, data, kind }: Content): Subject {
  const payload = once(() => (type === 'JSON' && data !== null ? parsed(data) : undefined));
  return { property: (name) => propertyOf(aq, kind, name), payload };
}
interface Content {
  readonly type: string;
  readonly data: Uint8Array | null;
  /** PERSISTENT or BUFFERED. */
  readonly kind: number;
}

/** Of one that is there. */
export function subjectOfQueued(spaceId: number, message: AqMessage): Subject {
  const { properties, data, persistent } = message;
  const aq = properties.aq ?? { enqueuedMs: 0 };
  const inner = subjectOf(aq, { type: properties.type, data, kind: persistent ? 1 : 2 });
  const property = (name: string): Value => {
    switch (name) {
      case 'MSGID':
        return aqMsgid(spaceId, message.id).toUpperCase();
      case 'STATE':
        return message.state;
      case 'ENQ_TIME':
        return new Date(aq.enqueuedMs).toISOString();
      case 'RETRY_COUNT':
        return message.attempts;
      default:
        return inner.property(name);
    }
  };
  return { property, payload: () => inner.payload() };
}

function propertyOf(aq: AqProperties, kind: number, name: string): Value {
  switch (name) {
    case 'PRIORITY':
      return aq.priority ?? DEFAULT_PRIORITY;
    case 'CORRID':
      return aq.correlation ?? null;
    case 'DELAY':
      return aq.delayS ?? 0;
    case 'EXPIRATION':
      return aq.expirationS ?? NEVER;
    case 'EXCEPTION_QUEUE':
      return aq.exceptionQueue ?? null;
    case 'SENDER_NAME':
      return aq.sender?.name ?? null;
    case 'SENDER_ADDRESS':
      return aq.sender?.address ?? null;
    case 'SENDER_PROTOCOL':
      return aq.sender?.protocol ?? null;
    case 'ORIGINAL_MSGID':
      return aq.originalMsgid?.toUpperCase() ?? null;
    case 'DELIVERY_MODE':
      return kind;
    default:
      return null;
  }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

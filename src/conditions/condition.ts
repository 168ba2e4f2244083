// Conditions over messages: rules of subscribers, conditions of dequeues and of purges [oracle-aq 8]. What each may name is here. Must not know
// messages: whoever asks gives a Subject.
import { AQ_LIMIT } from '../../proto/aq/limits.ts';
import { evaluateTest, EvaluationError, type Subject } from './evaluate.ts';
import type { Expression, Test } from './expression.ts';
import { tokensOf } from './lexer.ts';
import { parseTokens, type Vocabulary } from './parser.ts';

/** Where a condition stands, which decides what it may name. */
export type ConditionKind = 'rule' | 'dequeue' | 'purge';

/** What is known of a message when it is enqueued. */
const ENQUEUED = [
  'PRIORITY',
  'CORRID',
  'DELAY',
  'EXPIRATION',
  'EXCEPTION_QUEUE',
  'SENDER_NAME',
  'SENDER_ADDRESS',
  'SENDER_PROTOCOL',
  'ORIGINAL_MSGID',
  'DELIVERY_MODE',
];
/** What a queue knows of it besides. */
const QUEUED = ['MSGID', 'STATE', 'ENQ_TIME', 'RETRY_COUNT'];
/** Columns of AQ$<queue table> [oracle-aq 9.2]. */
const VIEW =
  'QUEUE MSG_ID CORR_ID MSG_PRIORITY MSG_STATE DELAY EXPIRATION ENQ_TIME RETRY_COUNT EXCEPTION_QUEUE ORIGINAL_QUEUE_NAME ' +
  'EXPIRATION_REASON ORIGINAL_MSGID SENDER_NAME SENDER_ADDRESS SENDER_PROTOCOL CONSUMER_NAME ADDRESS PROTOCOL';
const VOCABULARIES: Readonly<Record<ConditionKind, Vocabulary>> = {
  rule: { properties: new Set(ENQUEUED), prefix: 'TAB', bare: true },
  dequeue: { properties: new Set([...ENQUEUED, ...QUEUED]), prefix: 'TAB', bare: true },
  purge: { properties: new Set(VIEW.split(' ')), prefix: 'QTVIEW', bare: false },
};

export type ParsedCondition =
  | { readonly ok: true; readonly value: Condition }
  /** `column` counts characters from 1. */
  | { readonly ok: false; readonly column: number; readonly fault: string };

/** true or false; unknown counts as false to those who ask; 'error': a value was of the wrong kind. */
export type Verdict = boolean | null | 'error';

export class Condition {
  /** Whether it looks at the payload. */
  readonly needsPayload: boolean;
  private readonly test: Test;

  constructor(test: Test) {
    this.test = test;
    this.needsPayload = looksAtPayload(test);
  }

  evaluate(subject: Subject): Verdict {
    try {
      return evaluateTest(this.test, subject);
    } catch (error) {
      if (error instanceof EvaluationError) return 'error';
      throw error;
    }
  }
}

/** Reads a condition of at most 4,000 characters. */
export function parseCondition(text: string, kind: ConditionKind): ParsedCondition {
  if (text.length > AQ_LIMIT.CONDITION) {
    const fault = `a condition has at most ${AQ_LIMIT.CONDITION} characters, found ${text.length}`;
    return { ok: false, column: AQ_LIMIT.CONDITION + 1, fault };
  }
  const tokens = tokensOf(text);
  const found = 'message' in tokens ? tokens : parseTokens(tokens, VOCABULARIES[kind]);
  if (!('message' in found)) return { ok: true, value: new Condition(found) };
  return { ok: false, column: found.column, fault: `column ${found.column}: ${found.message}` };
}

function looksAtPayload(root: Expression): boolean {
  const left: Expression[] = [root];
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (node.kind === 'payload') return true;
    for (const value of Object.values(node)) {
      const parts: readonly unknown[] = Array.isArray(value) ? value : [value];
      for (const part of parts)
        if (typeof part === 'object' && part !== null && 'kind' in part) left.push(part as Expression);
    }
  }
  return false;
}

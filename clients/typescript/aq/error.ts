// A failed call of the AQ dialect: a TpError with the number of the dialect's error.
import { TpError, type TpErrorInit } from '../error.ts';

export class AqError extends TpError {
  override readonly name = 'AqError';
  /** As in docs/aq.md, e.g. 25228; 0: the failure is none of the dialect's, and tperrno and diagnostic say it. */
  readonly errorNum: number;

  constructor(init: TpErrorInit, errorNum: number) {
    super(init);
    this.errorNum = errorNum;
    if (errorNum !== 0) this.message = `AQ-${errorNum}: ${init.operation}: ${init.text}`;
  }

  static override is(value: unknown): value is AqError {
    return TpError.is(value) && 'errorNum' in value;
  }
  static override [Symbol.hasInstance](value: unknown): boolean {
    return AqError.is(value);
  }
}

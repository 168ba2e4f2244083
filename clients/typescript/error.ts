// The one error that this package throws, and the one that a service throws to fail with data. Invariants: both are recognised by global
// symbols, so that two copies of the package agree; a message begins with the codes' names. Must not know how a call was made.
import { qmeName, TPERRNO, tperrnoName } from '../../proto/codes.ts';
import type { Received } from './buffer.ts';

const TP_ERROR = Symbol.for('@tmqueue/client.TpError');
const SERVICE_FAILURE = Symbol.for('@tmqueue/client.ServiceFailure');

export interface TpErrorInit {
  tperrno: number;
  /** QME value when tperrno is TPEDIAGNOSTIC. */
  diagnostic?: number;
  /** The call, e.g. `tpenqueue`. */
  operation: string;
  /** In words, without the codes. */
  text: string;
  cause?: unknown;
  /** The request was sent, and whether it took effect is not known. */
  outcomeUnknown?: boolean;
  /** Of a tpcommit whose outcome is unknown: what `transactionOutcome` of a context takes. */
  transaction?: string | null;
  /** What came with the failure: a failed service's data (TPESVCFAIL), a message whose data could not be read (TPEOTYPE). */
  reply?: Received | null;
}

/** A failed call. */
export class TpError extends Error {
  override readonly name: string = 'TpError';
  readonly tperrno: number;
  /** QME value when tperrno is TPEDIAGNOSTIC, else 0. */
  readonly diagnostic: number;
  readonly operation: string;
  /** In words, without the codes. */
  readonly text: string;
  readonly outcomeUnknown: boolean;
  /** The transaction that a failed tpcommit was about, when its outcome is unknown: `transactionOutcome` of a context tells it. */
  readonly transaction: string | null;
  readonly reply: Received | null;

  constructor(init: TpErrorInit) {
    const diagnostic = init.diagnostic ?? 0;
    const codes =
      init.tperrno === TPERRNO.TPEDIAGNOSTIC
        ? `${tperrnoName(init.tperrno)}/${qmeName(diagnostic)}`
        : tperrnoName(init.tperrno);
    super(`${codes}: ${init.operation}: ${init.text}`, init.cause === undefined ? {} : { cause: init.cause });
    this.tperrno = init.tperrno;
    this.diagnostic = diagnostic;
    this.operation = init.operation;
    this.text = init.text;
    this.outcomeUnknown = init.outcomeUnknown ?? false;
    this.transaction = init.transaction ?? null;
    this.reply = init.reply ?? null;
  }

  /** Whether `value` is a TpError of this or of another copy of the package. */
  static is(value: unknown): value is TpError {
    return typeof value === 'object' && value !== null && TP_ERROR in value;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return TpError.is(value);
  }
}

/** Thrown by a service: its caller gets TPESVCFAIL with this data, and `rcode` as tpurcode [tpreturn(3c) TPFAIL]. */
export class ServiceFailure extends Error {
  override readonly name = 'ServiceFailure';
  readonly rcode: number;
  readonly data: unknown;

  /**
   * @param rcode application-defined, an integer
   * @param data as for tpenqueue; none by default
   */
  constructor(rcode: number, data: unknown = null) {
    super(`the service failed with rcode ${rcode}`);
    this.rcode = rcode;
    this.data = data;
  }

  static is(value: unknown): value is ServiceFailure {
    return typeof value === 'object' && value !== null && SERVICE_FAILURE in value;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return ServiceFailure.is(value);
  }
}

// On the prototypes, where every copy of the package finds them.
Object.defineProperty(TpError.prototype, TP_ERROR, { value: true });
Object.defineProperty(ServiceFailure.prototype, SERVICE_FAILURE, { value: true });

// Messages that can be told apart: every body carries a mark, its number and when it was sent. Numbers are the request ids: the
// connection's index + 1 in the high 8 bits, a count in the low 24, so that none is used twice in a run.
//
//     0          8         12   16          24
//     | TMQBENCH | number  | 0  | sent, f64 | filling |

export const MARK = 'TMQBENCH';
export const NUMBER_AT = 8;
const SENT_AT = 16;
const COUNT_BITS = 24;
const COUNT_MASK = 2 ** COUNT_BITS - 1;

export function stampedBody(bytes: number): Buffer {
  const body = Buffer.alloc(bytes, 0x2e);
  body.write(MARK, 0, 'latin1');
  return body;
}

/** The number of a connection's first message is this plus 1. */
export function numberBase(connection: number): number {
  return (connection + 1) * 2 ** COUNT_BITS;
}

export function writeStamp(body: Buffer, number: number, sentMs: number): void {
  body.writeUInt32BE(number, NUMBER_AT);
  body.writeDoubleBE(sentMs, SENT_AT);
}

/** 0 for a body without the mark. */
export function numberOf(body: Buffer): number {
  if (body.length < SENT_AT + 8 || body.toString('latin1', 0, MARK.length) !== MARK) return 0;
  return body.readUInt32BE(NUMBER_AT);
}

export function sentMsOf(body: Buffer): number {
  return body.readDoubleBE(SENT_AT);
}

const SENT = 1;
const RECEIVED = 2;

/** Every message of a run: sent once, received once. */
export class Ledger {
  sent = 0;
  received = 0;
  private doubled = 0;
  private unknown = 0;
  private readonly states: Uint8Array[] = [];

  /** A message was acknowledged, or is about to be sent: from now on it may be received. */
  send(number: number): void {
    this.sent++;
    this.put(number, SENT);
  }

  receive(body: Uint8Array | null): number {
    const number = Buffer.isBuffer(body) ? numberOf(body) : 0;
    this.received++;
    const state = this.states[number >>> COUNT_BITS]?.[number & COUNT_MASK] ?? 0;
    if (state === SENT) this.put(number, RECEIVED);
    else if (state === RECEIVED) this.doubled++;
    else this.unknown++;
    return number;
  }

  /** Throws unless everything that was sent was received, once. */
  verify(): void {
    const { sent, received, doubled, unknown } = this;
    if (sent === received && doubled === 0 && unknown === 0) return;
    throw new Error(`sent ${sent}, received ${received}: ${doubled} twice, ${unknown} that nobody sent`);
  }

  private put(number: number, state: number): void {
    const connection = number >>> COUNT_BITS;
    const at = number & COUNT_MASK;
    let states = this.states[connection] ?? new Uint8Array(65_536);
    if (at >= states.length) {
      const grown = new Uint8Array(Math.max(at + 1, states.length * 2));
      grown.set(states);
      states = grown;
    }
    this.states[connection] = states;
    states[at] = state;
  }
}

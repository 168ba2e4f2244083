// What a load generator is asked to do. It answers with Figures, or ends with a message when anything was refused, lost or doubled.

/** `bare`: the bare pipeline's wire; `lean`: the protocol, by the codecs of proto alone; `sdk`: the TypeScript client. */
export type LoadKind = 'bare' | 'lean' | 'sdk';
/** `D1` is for the trace: a short drain with one dequeue at a time. */
export type Shape = 'W1' | 'W2' | 'W3' | 'W4' | 'W5' | 'W6' | 'W7' | 'W9' | 'W10' | 'W11' | 'D1';

export interface LoadTask {
  readonly kind: LoadKind;
  readonly shape: Shape;
  readonly port: number;
  /** The server's process, for its processor time. */
  readonly pid: number;
  readonly qspace: string;
  /** W9 moves messages between it and the one of `otherQueue`, W10 takes replies from there. */
  readonly qname: string;
  readonly otherQueue?: string;
  readonly bodyBytes: number;
  /** W11: messages of other corrids on the queue. */
  readonly others?: number;
  /** A queue for the warm-up. */
  readonly warmQueue: string;
  /** How long the code of both sides is warmed at a high rate, where the workload's own rate would take minutes for it. */
  readonly warmupMs: number;
  readonly measureMs: number;
  /** Index of the first producer: producers of several runs whose messages must be told apart have different ones. */
  readonly firstProducer: number;
}

/** Connections and requests in flight on each. */
export const SHAPES: Readonly<Record<Shape, { connections: number; inFlight: number }>> = {
  W1: { connections: 1, inFlight: 1 },
  W2: { connections: 32, inFlight: 1 },
  W3: { connections: 4, inFlight: 256 },
  W4: { connections: 8, inFlight: 64 },
  W5: { connections: 8, inFlight: 1 },
  W6: { connections: 4, inFlight: 256 },
  W7: { connections: 4, inFlight: 256 },
  W9: { connections: 8, inFlight: 16 },
  W10: { connections: 8, inFlight: 8 },
  W11: { connections: 200, inFlight: 1 },
  D1: { connections: 1, inFlight: 1 },
};

/** What each consumer of W5 keeps asked for, here and with a peer: a consumer that asks for one message at a time waits for each. */
export const PREFETCHED = 8;
/** How long a workload runs before it is measured, in milliseconds. */
export const RAMP_MS = 200;
export const BODY_BYTES = 256;
/** Messages that W4 drains. */
export const DRAIN_MESSAGES = 50_000;
/** Messages on each of the two queues of W9. */
export const MOVED_MESSAGES = 20_000;
/** Messages that one pass of the warm-up drains. */
export const WARM_MESSAGES = 20_000;
/** Messages that D1 drains. */
export const SERIAL_MESSAGES = 200;

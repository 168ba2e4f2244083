// What the benchmark wants of another queue system: a server on a directory and a port, and clients that put and take. Only what is durable
// is answered; what that rests on is said in `durability`, so that anyone can check it.

export const PEERS = [
  'beanstalkd',
  'redis',
  'rabbitmq-quorum',
  'rabbitmq-classic',
  'bullmq',
  'pg-boss',
] as const;
export type PeerName = (typeof PEERS)[number];

/** The workloads that these systems have something for. */
export const PEER_SHAPES = ['W1', 'W2', 'W3', 'W4', 'W5', 'W6', 'W7', 'W8'] as const;
export type PeerShape = (typeof PEER_SHAPES)[number];

/** Where things are on this machine. */
export interface PeerPlace {
  /** The directory of the server's data: an existing one, for it alone. */
  readonly directory: string;
  readonly port: number;
}

export interface PeerServer {
  /** Of the process whose children are all that belongs to the server. */
  readonly pid: number;
  stop(): Promise<void>;
  /** Ends it as a crash does. */
  crash(): Promise<void>;
}

/** A client with a connection of its own, on one queue. */
export interface Lane {
  /** Resolves when the message is durable. */
  put(body: Buffer): Promise<void>;
  /** Waits for messages and takes at most so many; `onBody` sees each as it arrives. Resolves when they are gone for good. */
  take(most: number, onBody: (body: Buffer) => void): Promise<void>;
  close(): Promise<void>;
}

export interface LaneOptions {
  readonly port: number;
  readonly queue: string;
  /** Messages in flight. */
  readonly inFlight: number;
  /** Whose node_modules has the client, where that is a package. */
  readonly modules: string;
}

export interface Peer {
  readonly name: PeerName;
  /** How what is answered is durable. */
  readonly durability: string;
  /** How to install what is missing. */
  readonly install: string;
  /** What is missing on this machine; '' when nothing is. */
  missing(modules: string): string;
  start(place: PeerPlace): Promise<PeerServer>;
  connect(options: LaneOptions): Promise<Lane>;
}

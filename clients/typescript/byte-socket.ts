// The byte stream that a connection speaks on: a TCP socket, or what a simulation puts in its place. Owns how a real one is opened. Must not
// know frames.
import { connect } from 'node:net';
import type { Address } from './address.ts';

/** The members of a Node socket that are used, and no more. It connects by itself and says 'connect', or 'error' and 'close'. */
export interface ByteSocket {
  /** Bytes that were written and not sent. */
  readonly writableLength: number;
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'connect' | 'drain' | 'close', listener: () => void): unknown;
  off(event: 'data', listener: (chunk: Buffer) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'connect' | 'close', listener: () => void): unknown;
  write(bytes: Uint8Array): unknown;
  cork(): void;
  uncork(): void;
  pause(): unknown;
  resume(): unknown;
  destroy(): unknown;
}

/** Begins to connect. */
export type ConnectSocket = (address: Address) => ByteSocket;

export const connectTcp: ConnectSocket = ({ host, port }) => connect({ host, port, noDelay: true });

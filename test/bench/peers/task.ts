// What a load generator for another system is asked to do. It answers with Figures, or ends with a message when a message was lost or came twice.
import type { PeerName, PeerShape } from './peer.ts';

export interface PeerTask {
  readonly peer: PeerName;
  /** Where the client's package is, if it is one. */
  readonly modules: string;
  readonly shape: PeerShape;
  readonly port: number;
  /** The server's process, for the processor time of all below it. */
  readonly pid: number;
  readonly queue: string;
  readonly bodyBytes: number;
  readonly warmupMs: number;
  readonly measureMs: number;
  /** Messages that W8 puts there. */
  readonly backlog: number;
}

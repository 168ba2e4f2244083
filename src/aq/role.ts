// The AQ role as the daemon has it: its rooms put together, and what is seen to from time to time.
import type { AqRequest } from '../../proto/aq/message.ts';
import type { Client } from '../atmi/client.ts';
import type { Transactions } from '../atmi/transactions.ts';
import type { Clock, Timer } from '../base/clock.ts';
import type { Ulog } from '../base/ulog.ts';
import { adminHandlers } from './admin/handlers.ts';
import { sweepLanes } from './operations/lanes.ts';
import { operationHandlers } from './operations/handlers.ts';
import { AqRequests } from './requests.ts';
import { Sessions } from './sessions.ts';
import type { AqSpace } from './space.ts';

/** How often the queue monitor looks for what nobody needs any more, in milliseconds. */
const MONITOR_MS = 30_000;

export interface AqPorts {
  /** Open queue spaces, also those that are open for administration alone. */
  readonly spaces: () => readonly AqSpace[];
  /** Why the space of that alias is not open, if there is one. */
  readonly closedReason: (qspace: string) => string | undefined;
  readonly clock: Clock;
  readonly transactions: Transactions;
  readonly ulog: Ulog;
  /** Bytes of a message's data at most. */
  readonly messageBytesMax: number;
}

export class AqRole {
  private readonly ports: AqPorts;
  private readonly requests: AqRequests;
  private monitor: Timer | null = null;

  constructor(ports: AqPorts) {
    const { clock, transactions, messageBytesMax } = ports;
    this.ports = ports;
    const find = (qspace: string): AqSpace | undefined => this.requests.find(qspace);
    const operations = operationHandlers({
      transactions,
      sessions: new Sessions(),
      monoMs: () => clock.monoMs(),
      bytesMax: messageBytesMax,
      find,
    });
    this.requests = new AqRequests({ ...ports, handlers: [operations, adminHandlers(ports)] });
    this.watch();
  }

  handle(client: Client, request: AqRequest): void {
    this.requests.handle(client, request);
  }

  /** The daemon stops. */
  close(): void {
    this.monitor?.cancel();
    this.monitor = null;
  }

  private watch(): void {
    const { clock, spaces } = this.ports;
    this.monitor = clock.setTimer(clock.monoMs() + MONITOR_MS, () => {
      for (const { engine } of spaces()) if (engine.journal.failure === null) sweepLanes(engine);
      this.watch();
    });
  }
}

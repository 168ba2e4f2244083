// The AQ role as the daemon has it: its rooms put together, and what ends with a client.
import type { Ack } from '../../proto/message.ts';
import type { AqRequest } from '../../proto/aq/message.ts';
import type { AqSpace } from './space.ts';
import type { Client } from '../atmi/client.ts';
import type { Transactions } from '../atmi/transactions.ts';
import type { Clock } from '../base/clock.ts';
import type { Ulog } from '../base/ulog.ts';
import { AqRequests } from './requests.ts';

export interface AqPorts {
  /** Open queue spaces, also those that are open for administration alone. */
  readonly spaces: () => readonly AqSpace[];
  /** Why the space of that alias is not open, if there is one. */
  readonly closedReason: (qspace: string) => string | undefined;
  readonly clock: Clock;
  readonly transactions: Transactions;
  readonly ulog: Ulog;
}

export class AqRole {
  private readonly requests: AqRequests;

  constructor(ports: AqPorts) {
    const { spaces, closedReason } = ports;
    this.requests = new AqRequests({ spaces, closedReason, handlers: [] });
  }

  handle(client: Client, request: AqRequest): void {
    this.requests.handle(client, request);
  }

  acknowledged(_client: Client, _ack: Ack): void {}

  gone(_client: Client): void {}
}

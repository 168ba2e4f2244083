// AQ: requests of the AQ dialect, each by its verb [oracle-aq 4, 5]. Owns what is the same for all: which queue space is meant, and that a verb
// exists. What each does is in the rooms beside: operations, administration, notification, propagation; they say here which verbs are theirs.
import { QME, TPERRNO } from '../../proto/codes.ts';
import type { AqRequest } from '../../proto/aq/message.ts';
import type { AqSpace } from './space.ts';
import type { Client } from '../atmi/client.ts';
import { AqAsked, aqErrorReply, aqFailed, type AqRefused } from './asked.ts';
import { parseName } from './names.ts';

/** Carries a request out; it answers by itself, now or later. */
export type AqHandler = (asked: AqAsked) => void;
/** By verb. */
export type AqHandlers = ReadonlyMap<number, AqHandler>;

export interface AqRequestPorts {
  /** Open spaces, by all their names. */
  readonly spaces: () => readonly AqSpace[];
  /** Why the space of that alias is not open, if there is one. */
  readonly closedReason: (qspace: string) => string | undefined;
  readonly handlers: readonly AqHandlers[];
}

const NAMELESS = { schema: '', name: '' };

export class AqRequests {
  private readonly ports: AqRequestPorts;
  private readonly handlers = new Map<number, AqHandler>();

  constructor(ports: AqRequestPorts) {
    this.ports = ports;
    for (const handlers of ports.handlers)
      for (const [verb, handler] of handlers) this.handlers.set(verb, handler);
  }

  handle(client: Client, request: AqRequest): void {
    const refuse = (refused: AqRefused): void => client.port.send(aqErrorReply(request.id, refused));
    const handler = this.handlers.get(request.verb);
    if (handler === undefined)
      return refuse(aqFailed(TPERRNO.TPEINVAL, `AQ has no verb ${request.verb} in this release`));
    const named = request.qname === '' ? NAMELESS : parseName(request.qname);
    if ('fault' in named) return refuse(named);
    const qspace = named.schema === '' ? request.qspace : named.schema;
    if (qspace === '') return refuse(aqFailed(TPERRNO.TPEINVAL, 'the name of the queue space is empty'));
    const space = this.find(qspace);
    if (space === undefined) return refuse(this.notOpen(qspace));
    const { failure } = space.engine.journal;
    if (failure !== null)
      return refuse(
        aqFailed(QME.QMESYSTEM, `the log of queue space ${space.name} failed; see the daemon's log`),
      );
    return handler(new AqAsked(client, { ...request, qspace, qname: named.name }, space));
  }

  /** By an alias, or by its own name. */
  find(qspace: string): AqSpace | undefined {
    const spaces = this.ports.spaces();
    return (
      spaces.find(({ aliases }) => aliases.includes(qspace)) ?? spaces.find(({ name }) => name === qspace)
    );
  }

  private notOpen(qspace: string): AqRefused {
    const reason = this.ports.closedReason(qspace);
    if (reason !== undefined) return aqFailed(QME.QMENOTOPEN, `queue space ${qspace} is not open: ${reason}`);
    return aqFailed(TPERRNO.TPENOENT, `there is no queue space ${qspace}, by alias or by its own name`);
  }
}

// What every simulated client is made of: the real SDK on a simulated socket, with a stream of chance, a place in the ledger and a watch
// over its calls. Invariants: every call is answered, in simulated time; a failure is a TpError, and of a kind that may happen; what a
// failure says of its outcome is believed, so that the verdict finds out when it lies.
import { type Context, QME, TPERRNO, TpError, TPQ, TPQCTL } from '../../clients/typescript/index.ts';
import { join } from '../../clients/typescript/context.ts';
import type { Prng } from '../../src/base/prng.ts';
import { bodyOf, keyOf } from '../support/ledger-body.ts';
import { type Ledger, type Message, type MessageTraits, type Place, placeName, type Unit } from './ledger.ts';
import type { SimNetwork } from './network.ts';
import type { Scenario } from './scenario.ts';
import type { World } from './world.ts';

export interface ClientPorts {
  readonly world: World;
  readonly network: SimNetwork;
  readonly ledger: Ledger;
  readonly scenario: Scenario;
  readonly violation: (text: string) => void;
}

/** How a call ended. */
export type End<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: TpError };

/** No call may take longer, in milliseconds of simulated time. */
const CALL_MS_MAX = 90_000;
/** A client that is told these did something that it should not have, or the daemon did. */
const NEVER: readonly number[] = [TPERRNO.TPEINVAL, TPERRNO.TPEPROTO, TPERRNO.TPEITYPE, TPERRNO.TPEOTYPE];
const NEVER_DIAGNOSTICS: readonly number[] = [QME.QMEINVAL, QME.QMETRAN, QME.QMEPROTO];
const MSGID = { flags: TPQ.TPQMSGID };

export class Client {
  readonly name: string;
  readonly ports: ClientPorts;
  readonly prng: Prng;
  context: Context | null = null;
  /** Calls that are not answered, with the instant of their making. */
  readonly open = new Map<object, { what: string; sinceMs: number }>();

  constructor(name: string, ports: ClientPorts) {
    this.name = name;
    this.ports = ports;
    this.prng = ports.world.prng(`client ${name}`);
  }

  get ledger(): Ledger {
    return this.ports.ledger;
  }

  /** Joins, however long it takes. */
  async join(): Promise<Context> {
    for (;;) {
      const end = await this.call('tpinit', () =>
        join(() => this.ports.network.connect(), {
          address: '//sim:7110',
          cltname: this.name,
          connectTimeoutMs: 400,
          reconnect: { initialMs: 20, maxMs: 200 },
          onError: (error) => this.note(`has nobody to tell: ${String(error)}`),
          onExit: () => this.ports.violation(`${this.name}: told to exit`),
        }),
      );
      if (end.ok) {
        this.context = end.value;
        return end.value;
      }
      await this.ports.world.sleep(30);
    }
  }

  async leave(): Promise<void> {
    const { context } = this;
    if (context !== null) await this.call('tpterm', () => context.tpterm());
  }

  /** Watches over one call. */
  async call<T>(what: string, make: () => Promise<T>): Promise<End<T>> {
    const { world, violation } = this.ports;
    const token = {};
    const sinceMs = world.nowMs;
    this.open.set(token, { what, sinceMs });
    let end: End<T>;
    try {
      end = { ok: true, value: await make() };
    } catch (error) {
      if (!TpError.is(error)) throw error;
      end = { ok: false, error };
    }
    this.open.delete(token);
    this.note(`${what}: ${end.ok ? 'ok' : end.error.message}`);
    if (world.nowMs - sinceMs > CALL_MS_MAX)
      violation(`${this.name} ${what}: answered after ${world.nowMs - sinceMs} ms`);
    if (!end.ok && isImpossible(end.error)) violation(`${this.name} ${what}: ${end.error.message}`);
    return end;
  }

  /** The same for what goes on as long as the run does. */
  async serving(make: () => Promise<void>): Promise<End<void>> {
    try {
      await make();
      return { ok: true, value: undefined };
    } catch (error) {
      if (!TpError.is(error)) throw error;
      return { ok: false, error };
    }
  }

  /** Enqueues the next message of a stream; its msgid when it was accepted. */
  async put(
    by: Pick<Context, 'tpenqueue'>,
    about: {
      place: Place;
      unit: Unit | null;
      ctl?: Partial<TPQCTL>;
      traits?: Partial<MessageTraits>;
      stream?: string;
    },
  ): Promise<Message> {
    const { place, unit, ctl = {}, traits = {}, stream = `${this.name}-${about.place.queue}` } = about;
    const bytes = this.prng.between(20, this.ports.scenario.bodyBytesMax);
    const whole = { ...plainTraits(place), ...traits };
    const message = this.ledger.putting(stream, bytes, { place, traits: whole, unit });
    const given = new TPQCTL({ ...ctl, flags: (ctl.flags ?? 0) | MSGID.flags });
    const end = await this.call(`put ${message.key} on ${placeName(place)}`, () =>
      by.tpenqueue(place.space, place.queue, given, bodyOf(message.key)),
    );
    if (end.ok) message.msgid = given.msgid;
    this.ledger.putEnded(message, end.ok ? 'there' : end.error.outcomeUnknown ? 'unknown' : 'refused');
    return message;
  }

  /** Dequeues; null: nothing there, or a failure, which is returned too. */
  async take(
    by: Pick<Context, 'tpdequeue'>,
    about: { place: Place; unit: Unit | null; ctl?: Partial<TPQCTL>; waitMs?: number },
  ): Promise<{ message: Message | null; error: TpError | null }> {
    const { place, unit, ctl = {}, waitMs } = about;
    const name = placeName(place);
    const given = new TPQCTL({ ...ctl, flags: (ctl.flags ?? 0) | (waitMs === undefined ? 0 : TPQ.TPQWAIT) });
    const { flags } = given;
    const askedTick = this.ledger.tick();
    const extras = waitMs === undefined ? {} : { waitMs };
    const end = await this.call(`take from ${name}`, () =>
      by.tpdequeue(place.space, place.queue, given, null, 0, extras),
    );
    if (end.ok) {
      const key = keyOf(end.value.data);
      this.note(`has ${key} from ${name}`);
      if ((flags & TPQ.TPQPEEK) !== 0) {
        this.ledger.peeked(key, askedTick, name);
        return { message: null, error: null };
      }
      const selects = (flags & (TPQ.TPQGETBYMSGID | TPQ.TPQGETBYCORRID)) !== 0;
      return { message: this.ledger.took(key, { unit, askedTick, selects, from: name }), error: null };
    }
    const { error } = end;
    if (unit === null && error.outcomeUnknown) this.ledger.takeUnknown(name, askedTick);
    return { message: null, error };
  }

  note(what: string): void {
    const { world } = this.ports;
    world.trace.add(`${world.nowMs.toFixed(3)} ${this.name} ${what}`);
  }

  /** Thinks for a while. */
  think(msMax: number): Promise<void> {
    return this.ports.world.sleep(this.prng.below(msMax) + 1);
  }
}

/** Where the messages of a queue may be found: there, and on the error queue. */
export function plainTraits(place: Place): MessageTraits {
  return {
    priority: 50,
    isPersistent: true,
    expires: false,
    isPlaced: false,
    places: [place, { space: place.space, queue: 'ERRQ' }],
  };
}

function isImpossible(error: TpError): boolean {
  const { tperrno, diagnostic } = error;
  return (
    NEVER.includes(tperrno) || (tperrno === TPERRNO.TPEDIAGNOSTIC && NEVER_DIAGNOSTICS.includes(diagnostic))
  );
}

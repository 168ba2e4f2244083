// The transaction log [DESIGN 6, TLOG]: decisions over several queue spaces, kept until every space has the outcome on disk. A log like a
// space's, with the same journal. Every segment begins with its identity and all open decisions, so older ones are let go at once.
import type { TransactionId } from '../base/transaction-id.ts';
import { Decisions, type Decision, type Participant, type TlogEvent } from '../xa/decisions.ts';
import { LogError, type LogStore, type LogWriter } from '../wal/log-store.ts';
import { Journal } from './journal.ts';
import { RecordBuffer } from './record-buffer.ts';
import { asBuffer } from './record-parts.ts';
import type { Held } from './request.ts';
import { SpaceClock } from './space-clock.ts';
import type { EnginePorts } from './space-engine.ts';
import { decidedBytes, decodeTlogEvent, encodeTlogEvent, FORGOTTEN_BYTES } from './tlog-record.ts';

export type TlogPorts = Pick<EnginePorts, 'clock' | 'ulog' | 'soon'>;

const IDENTITY_BYTES = 20 + 32;

/** Takes over the log and reads all of it. Rejects with a LogError when it is damaged or held by another. */
export async function openTlog(
  store: LogStore,
  signal: AbortSignal,
  ports: TlogPorts & { readonly newIdentity: () => string },
): Promise<Tlog> {
  const writer = await store.takeover('tmqueue', signal);
  const decisions = new Decisions();
  const time = new SpaceClock(ports.clock);
  for await (const batch of writer.replay(0)) {
    signal.throwIfAborted();
    if (batch.kind === 'takeover') continue;
    time.learn(batch.time);
    const [bytes] = batch.records.bytes; // replay hands out a batch as one chunk
    if (bytes === undefined) continue;
    for (let i = 0; i < batch.records.count; i++) {
      const from = batch.records.starts[i] as number;
      const to = i + 1 < batch.records.count ? (batch.records.starts[i + 1] as number) : bytes.length;
      decisions.apply(readEvent(bytes.subarray(from, to), batch.pos));
    }
  }
  time.start();
  const tlog = new Tlog({ store, writer, decisions, time }, ports);
  if (decisions.tlog === '') await tlog.begin(ports.newIdentity());
  return tlog;
}

function readEvent(record: Uint8Array, pos: number): TlogEvent {
  try {
    return decodeTlogEvent(asBuffer(record));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new LogError('Corrupt', `batch at ${pos} of the transaction log: ${reason}`, { cause: error });
  }
}

export class Tlog {
  readonly decisions: Decisions;
  private readonly store: LogStore;
  private readonly writer: LogWriter;
  private readonly journal: Journal;
  private trimming: Promise<void> | null = null;

  constructor(
    opened: { store: LogStore; writer: LogWriter; decisions: Decisions; time: SpaceClock },
    ports: TlogPorts,
  ) {
    this.store = opened.store;
    this.writer = opened.writer;
    this.decisions = opened.decisions;
    this.writer.setPreamble(() => this.preamble().group());
    this.writer.limitUnits(2);
    this.journal = new Journal(opened.writer, opened.time, ports.soon);
    this.journal.onAppended = () => this.trim();
    this.journal.reserveAnyway(this.decisions.size * FORGOTTEN_BYTES);
  }

  set onFailure(run: (error: LogError) => void) {
    this.journal.onFailure = run;
  }
  get failure(): LogError | null {
    return this.journal.failure;
  }

  /** Says whose log this is; once, before anything else. */
  async begin(identity: string): Promise<void> {
    this.journal.reserveAnyway(IDENTITY_BYTES);
    this.say({ kind: 'identity', tlog: identity }, IDENTITY_BYTES);
    await this.journal.settled();
    if (this.journal.failure !== null) throw this.journal.failure;
  }

  /** Room for a decision about these and for forgetting it; false: there is none. */
  promise(participants: readonly Participant[]): boolean {
    const most = this.store.describe().maxPreambleBytes;
    const taken = (this.decisions.size + 1) * decidedBytes(participants) + IDENTITY_BYTES;
    return taken <= most / 2 && this.journal.reserveSmall(decidedBytes(participants) + FORGOTTEN_BYTES);
  }
  takeBack(participants: readonly Participant[]): void {
    this.journal.release(decidedBytes(participants) + FORGOTTEN_BYTES);
  }

  /** Commits a transaction; `held` is released when that is durable. The room for it was promised. */
  decide({ transaction, participants }: Decision, held: Held): void {
    this.say({ kind: 'decided', transaction, participants }, decidedBytes(participants));
    this.journal.hold(this.journal.batch, held);
  }

  /** The outcome is durable in this space. */
  ended(transaction: TransactionId, spaceId: number): void {
    if (this.journal.failure !== null || !this.decisions.ended(transaction, spaceId)) return;
    this.say({ kind: 'forgotten', transaction }, FORGOTTEN_BYTES);
  }

  async close(): Promise<void> {
    await this.trimming;
    await this.journal.close();
    await this.store.close();
  }

  /** Resolves when all that was said is durable, or the log died. */
  settled(): Promise<void> {
    return this.journal.settled();
  }

  private say(event: TlogEvent, reserved: number): void {
    if (this.journal.failure !== null) return;
    encodeTlogEvent(this.journal.records, event);
    this.journal.changed(reserved);
    this.decisions.apply(event);
  }

  private preamble(): RecordBuffer {
    const buffer = new RecordBuffer();
    encodeTlogEvent(buffer, { kind: 'identity', tlog: this.decisions.tlog });
    for (const decision of this.decisions.list()) encodeTlogEvent(buffer, { kind: 'decided', ...decision });
    return buffer;
  }

  /** What the present segment begins with makes those before it superfluous, once it is durable. */
  private trim(): void {
    const unit = this.writer.unitOf(this.writer.nextRef);
    if (this.trimming !== null || this.writer.firstUnit >= unit) return;
    this.trimming = this.trimTo(unit).finally(() => {
      this.trimming = null;
    });
  }
  private async trimTo(unit: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.journal.hold(this.journal.batch, { released: resolve, failed: resolve });
    });
    if (this.journal.failure === null) await this.writer.trimBefore(unit).catch(() => {});
  }
}

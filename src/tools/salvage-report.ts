// What a salvage kept, what is lost and what may come twice: for the operator's terminal and for SALVAGE.txt beside the new log.
// It must not know how logs are read.
import type { Unreadable } from '../wal/local/read-only-io.ts';
import type { TornTail } from '../wal/local/recovery.ts';
import type { Gap } from '../wal/local/survey.ts';
import type { SpaceDirectory } from './directories.ts';

/** Ids that are listed, of each sort; more are only counted. */
const LISTED_MAX = 1000;

/** A list that stops growing, and goes on counting. */
class Listed {
  readonly lines: string[] = [];
  count = 0;

  add(line: string): void {
    this.count++;
    if (this.count <= LISTED_MAX) this.lines.push(line);
  }

  text(): string[] {
    const rest = this.count - this.lines.length;
    const more = rest === 0 ? [] : [`… and ${rest} more`];
    return [...this.lines, ...more].map((line) => `  ${line}`);
  }
}

export class SalvageReport {
  readonly space: SpaceDirectory;
  readonly into: string;
  /** Batches and queued messages in the new log. */
  batches = 0;
  messages = 0;
  private readonly messagesByQueue = new Map<string, number>();
  private readonly regions = new Listed();
  private readonly lostMessages = new Listed();
  private readonly twice = new Listed();
  private readonly records = new Listed();
  private readonly notes = new Listed();
  private readonly twiceByQueue = new Map<string, number>();
  private gaps = 0;
  private lostBatches = 0;
  private isCountKnown = true;
  private torn: TornTail | null = null;
  private readonly unreadableBlocks = new Set<string>();

  constructor(space: SpaceDirectory, into: string) {
    this.space = space;
    this.into = into;
  }

  gap({ regions, lostBatches }: Gap): void {
    this.gaps++;
    if (lostBatches === null) this.isCountKnown = false;
    else this.lostBatches += lostBatches;
    const lost = lostBatches === null ? 'number of batches not known' : `batches: ${lostBatches}`;
    for (const { file, offset, bytes, missing } of regions) {
      this.regions.add(
        missing
          ? `${file}: the file is missing (${lost})`
          : `${file}: offset ${offset}, ${bytes} bytes (${lost})`,
      );
    }
  }

  tornTail(torn: TornTail): void {
    this.torn = torn;
  }

  unreadable({ file, offset, bytes, code }: Unreadable): void {
    const line = `${file}: offset ${offset}, ${bytes} bytes cannot be read: ${code}`;
    if (this.unreadableBlocks.has(line)) return;
    this.unreadableBlocks.add(line);
    this.notes.add(line);
  }

  damagedRecord(
    place: { file: string; offset: number },
    at: { pos: number; offset: number },
    why: string,
  ): void {
    this.records.add(
      `${place.file}: offset ${place.offset}, batch ${at.pos}, record at byte ${at.offset}: ${why}`,
    );
  }

  lostMessage(id: string, queue: string, isIntact: boolean): void {
    this.lostMessages.add(
      `${id} on ${queue} (${isIntact ? 'whole itself, but its batch is not' : 'incomplete'})`,
    );
  }

  kept(queue: string): void {
    this.messagesByQueue.set(queue, (this.messagesByQueue.get(queue) ?? 0) + 1);
  }

  maybeTwice(queue: string, id: string): void {
    this.twiceByQueue.set(queue, (this.twiceByQueue.get(queue) ?? 0) + 1);
    this.twice.add(`${id} on ${queue}`);
  }

  note(line: string): void {
    this.notes.add(line);
  }

  /** Nothing that was acknowledged is missing, and nothing comes twice. */
  get isComplete(): boolean {
    return this.gaps === 0 && this.records.count === 0;
  }

  /** For the terminal: without the ids. */
  summary(): string[] {
    const { space, into, batches, messages } = this;
    return [
      `${space.name}: ${space.dir} → ${into}: ${batches} batches kept, ${messages} messages queued${queues(this.messagesByQueue)}`,
      ...(this.isComplete ? ['  nothing that was acknowledged is lost'] : this.losses()),
      ...(this.torn === null
        ? []
        : [
            `  torn tail, never acknowledged, left out: ${this.torn.file} offset ${this.torn.offset}, ${this.torn.bytes} bytes`,
          ]),
      ...this.notes.text(),
    ];
  }

  text(): string {
    const lines = [
      'Report of tmqueue wal salvage',
      '',
      ...this.summary(),
      ...section('Messages of lost batches that are known by name', this.lostMessages),
      ...section('Messages that may have been delivered before', this.twice),
    ];
    return `${lines.join('\n')}\n`;
  }

  private losses(): string[] {
    const batches = this.isCountKnown
      ? `${this.lostBatches}`
      : `${this.lostBatches} and more, how many is not known`;
    const lines: string[] = [];
    if (this.gaps > 0) {
      lines.push(
        `  lost parts of the log: ${this.gaps}, batches in them: ${batches}`,
        ...this.regions.text(),
      );
      if (this.lostMessages.count > 0)
        lines.push(
          `  lost messages that are known by name: ${this.lostMessages.count}; the rest of a lost batch is not known`,
        );
    }
    if (this.records.count > 0)
      lines.push(`  damaged records, left out: ${this.records.count}`, ...this.records.text());
    if (this.twice.count > 0) {
      lines.push(
        `  possibly delivered before: ${this.twice.count} messages${queues(this.twiceByQueue)}: their removal may be in a lost part, ` +
          'as may retries and changes of queues',
      );
    }
    return lines;
  }
}

function queues(counts: ReadonlyMap<string, number>): string {
  if (counts.size === 0) return '';
  const sorted = [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return ` (${sorted.map(([name, count]) => `${name} ${count}`).join(', ')})`;
}

function section(title: string, list: Listed): string[] {
  return list.count === 0 ? [] : ['', `${title}: ${list.count}`, ...list.text()];
}

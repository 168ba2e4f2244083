// The page of /metrics: the daemon's own families, and those of the process, in the text form of Prometheus. Numbers are read when they are asked
// for, a slice of subjects at a time with a turn of the loop between, so that ten thousand queues hold nobody up; who asks meanwhile gets the
// same page. prom-client writes the text.
import {
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  Registry,
  type HistogramConfiguration,
} from 'prom-client';
import type { Readiness } from './readiness.ts';
import {
  DAEMON,
  FORWARDER_RESULTS,
  FORWARDERS,
  QUEUES,
  READINESS,
  SERVICES,
  SPACES,
  type Family,
  type Reading,
} from './families.ts';
import type { MetricsSource, Spread } from './source.ts';

/** Subjects read and written in one go: about a millisecond. */
const SLICE_SUBJECTS = 24;

interface Sample {
  readonly value: number;
  readonly labels: Labels;
  readonly metricName?: string;
}
type Labels = Record<string, string>;

export interface PageOptions {
  readonly readiness: Readiness;
  /** Resolves at the loop's next turn. */
  readonly nextTurn: () => Promise<void>;
  /** Whether to show process_* and nodejs_*. */
  readonly ofProcess?: boolean;
}

export class MetricsPage {
  readonly contentType: string;
  /** null: there is nothing to read yet. */
  source: MetricsSource | null = null;
  private readonly options: PageOptions;
  private readonly registry = new Registry();
  private readonly process = new Registry();
  private readonly metrics = new Map<string, Gathered>();
  private making: Promise<Buffer[]> | null = null;

  constructor(options: PageOptions) {
    this.options = options;
    this.contentType = this.registry.contentType;
    if (options.ofProcess === true) collectDefaultMetrics({ register: this.process });
  }

  /** The page, in pieces. */
  make(): Promise<Buffer[]> {
    this.making ??= this.gather().finally(() => {
      this.making = null;
    });
    return this.making;
  }

  private async gather(): Promise<Buffer[]> {
    const { source } = this;
    const page: Buffer[] = [];
    const add = async <T>(part: Part<T>): Promise<void> => void page.push(...(await this.part(part)));
    await add({ families: READINESS, subjects: [this.options.readiness], labelsOf: () => ({}) });
    if (source !== null) {
      await add({ families: DAEMON, subjects: [source.daemon()], labelsOf: ({ lmid }) => ({ lmid }) });
      await add({ families: SPACES, subjects: source.spaces(), labelsOf: ({ space }) => ({ space }) });
      await add({
        families: QUEUES,
        subjects: source.queues(),
        labelsOf: ({ space, queue }) => ({ space, queue }),
      });
      await add({ families: FORWARDERS, subjects: source.forwarders(), labelsOf: serverLabels });
      await add({ families: FORWARDER_RESULTS, subjects: source.forwarderResults(), labelsOf: serverLabels });
      await add({
        families: SERVICES,
        subjects: source.services(),
        labelsOf: ({ service }) => ({ service }),
      });
    }
    if (this.options.ofProcess === true) page.push(Buffer.from(await this.process.metrics()));
    return page;
  }

  private async part<T>({ families, subjects, labelsOf }: Part<T>): Promise<Buffer[]> {
    const texts = families.map((): Buffer[] => []);
    for (const slice of slicesOf(subjects)) {
      const labels = slice.map(labelsOf);
      for (const [i, family] of families.entries()) {
        const samples = slice.flatMap((one, j) => samplesOf(family, family.read(one), labels[j] as Labels));
        const pieces = texts[i] as Buffer[];
        if (samples.length > 0)
          pieces.push(await this.write(family, { samples, isFirst: pieces.length === 0 }));
      }
      await this.options.nextTurn();
    }
    return texts.flat();
  }

  /** The lines of these samples, under the family's head when they are its first. */
  private async write<T>(
    family: Family<T>,
    { samples, isFirst }: { samples: Sample[]; isFirst: boolean },
  ): Promise<Buffer> {
    const metric = this.metricOf(family);
    metric.samples = samples;
    const text = await this.registry.getSingleMetricAsString(family.name);
    metric.samples = [];
    return Buffer.from(`${isFirst ? text : withoutHead(text)}\n`);
  }

  private metricOf<T>({ name, kind, help }: Family<T>): Gathered {
    let metric = this.metrics.get(name);
    if (metric === undefined) {
      metric = new MAKERS[kind]({ name, help, registers: [this.registry] });
      this.metrics.set(name, metric);
    }
    return metric;
  }
}

/** Families of one kind of subject. */
interface Part<T> {
  readonly families: readonly Family<T>[];
  readonly subjects: Iterable<T>;
  readonly labelsOf: (subject: T) => Labels;
}

/** Without the two lines of help and type. */
function withoutHead(text: string): string {
  return text.slice(text.indexOf('\n', text.indexOf('\n') + 1) + 1);
}

function serverLabels({ srvgrp, srvid }: { srvgrp: string; srvid: number }): Labels {
  return { srvgrp, srvid: String(srvid) };
}

function* slicesOf<T>(subjects: Iterable<T>): Generator<T[]> {
  let slice: T[] = [];
  for (const subject of subjects) {
    slice.push(subject);
    if (slice.length < SLICE_SUBJECTS) continue;
    yield slice;
    slice = [];
  }
  if (slice.length > 0) yield slice;
}

function samplesOf<T>({ name, label }: Family<T>, reading: Reading, labels: Labels): Sample[] {
  if (reading === null) return [];
  if (typeof reading === 'number') return [{ value: reading, labels }];
  if (isSpread(reading)) return spreadSamples(name, reading, labels);
  return Object.entries(reading).map(([is, value]) => ({ value, labels: { ...labels, [label]: is } }));
}

function isSpread(reading: object): reading is Spread {
  return 'bounds' in reading;
}

function spreadSamples(name: string, { bounds, counts, sum }: Spread, labels: Labels): Sample[] {
  const samples: Sample[] = [];
  let count = 0;
  for (const [i, value] of counts.entries()) {
    count += value;
    const le = String(bounds[i] ?? '+Inf');
    samples.push({ metricName: `${name}_bucket`, value: count, labels: { ...labels, le } });
  }
  return [
    ...samples,
    { metricName: `${name}_sum`, value: sum, labels },
    { metricName: `${name}_count`, value: count, labels },
  ];
}

// Metrics whose values were read elsewhere: the library asks them for their values when it writes them.

interface Gathered {
  samples: Sample[];
}

class GatheredGauge extends Gauge implements Gathered {
  samples: Sample[] = [];
  override async get(): ReturnType<Gauge['get']> {
    return { ...(await super.get()), values: this.samples };
  }
}

class GatheredCounter extends Counter implements Gathered {
  samples: Sample[] = [];
  override async get(): ReturnType<Counter['get']> {
    return { ...(await super.get()), values: this.samples };
  }
}

class GatheredHistogram extends Histogram implements Gathered {
  samples: Sample[] = [];
  private readonly about: Omit<HistogramConfiguration<string>, 'registers'>;

  constructor(about: HistogramConfiguration<string>) {
    super(about);
    this.about = about;
  }
  /** What the library calls in place of `get` when it writes a histogram. */
  async getForPromString(): Promise<object> {
    const { name, help } = this.about;
    return { name, help, type: 'histogram', values: this.samples };
  }
}

const MAKERS = { gauge: GatheredGauge, counter: GatheredCounter, histogram: GatheredHistogram } as const;

// How values are spread over fixed bounds: counted where things happen, once a batch or more rarely, and read by whoever shows it. It must
// not know what the values are.

export class Histogram {
  /** Ascending; a value counts for the first bound that is not below it. */
  readonly bounds: readonly number[];
  /** One more than bounds: the last is of values above all of them. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] as number)) at++;
    counts[at] = (counts[at] as number) + 1;
    this.sum += value;
  }

  get count(): number {
    return this.counts.reduce((sum, count) => sum + count, 0);
  }
}

// How often a server that failed may begin again [SERVERS: RESTART, MAXGEN, GRACE, spec 6.4]. Pure: the instants come from the caller.

export interface RestartTerms {
  /** RESTART=Y. */
  readonly restart: boolean;
  /** MAXGEN: lives within GRACE. */
  readonly maxGen: number;
  /** GRACE in seconds; 0: no limit. */
  readonly graceS: number;
}

export class Lives {
  private readonly terms: RestartTerms;
  /** Which life this is, and when the first of those that count began. */
  private generation = 1;
  private firstMs: number;

  constructor(terms: RestartTerms, nowMs: number) {
    this.terms = terms;
    this.firstMs = nowMs;
  }

  /** A life ended by a failure; whether there is another. */
  again(nowMs: number): boolean {
    const { restart, maxGen, graceS } = this.terms;
    if (!restart) return false;
    if (graceS === 0) return true;
    if (this.generation < maxGen) {
      this.generation++;
      return true;
    }
    if (nowMs - this.firstMs < graceS * 1000) return false;
    this.generation = 1;
    this.firstMs = nowMs;
    return true;
  }
}

// A seeded source of pseudo-random numbers (sfc32): the same seed gives the same run, so a failing test can be replayed.
// It owns four words of state and must never be used for secrets.

export class Prng {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    this.#a = seed >>> 0;
    this.#b = Math.floor(seed / 0x1_0000_0000) >>> 0;
    this.#c = 0x9e3779b9;
    for (let i = 0; i < 12; i++) this.u32();
  }

  /** A whole number from 0 to 2^32 − 1. */
  u32(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** A whole number from 0 to `bound` − 1. */
  below(bound: number): number {
    return Math.floor((this.u32() / 0x1_0000_0000) * bound);
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  /** True once in `times` on average. */
  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }

  bytes(count: number): Uint8Array {
    const result = new Uint8Array(count);
    for (let i = 0; i < count; i++) result[i] = this.u32() & 0xff;
    return result;
  }
}

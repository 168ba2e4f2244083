// Latencies in a histogram that is allocated once: exact below 256 µs, then 128 steps an octave (under 1 % off), up to 67 s. It owns the
// counts only; recording makes no garbage.

const STEP_BITS = 7;
const STEPS = 1 << STEP_BITS;
const OCTAVES = 20;
const US_MAX = 2 ** (STEP_BITS + OCTAVES - 1) - 1;

export class Histogram {
  count = 0;
  private readonly counts = new Uint32Array(STEPS * OCTAVES);

  /** @param us microseconds; fractions are cut off */
  record(us: number): void {
    const at = indexOf(Math.min(Math.max(us, 0), US_MAX) >>> 0);
    this.counts[at] = this.counts[at]! + 1;
    this.count++;
  }

  /** The latency in microseconds that a share `part` (0…1) of all records does not exceed; 0 without records. */
  percentile(part: number): number {
    const wanted = Math.max(1, Math.ceil(this.count * part));
    let seen = 0;
    for (let at = 0; at < this.counts.length; at++) {
      seen += this.counts[at]!;
      if (seen >= wanted) return valueOf(at);
    }
    return 0;
  }

  clear(): void {
    this.counts.fill(0);
    this.count = 0;
  }
}

function indexOf(us: number): number {
  if (us < STEPS) return us;
  const shift = 31 - Math.clz32(us) - STEP_BITS;
  return ((shift + 1) << STEP_BITS) + (us >>> shift) - STEPS;
}

/** The middle of what falls into a step. */
function valueOf(at: number): number {
  if (at < STEPS) return at;
  const shift = (at >>> STEP_BITS) - 1;
  return ((at & (STEPS - 1)) + STEPS + 0.5) * 2 ** shift;
}

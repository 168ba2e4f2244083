// Whether the daemon may be given work, and what keeps it from it: said by whoever starts, stops or fails, read by health requests, the metrics
// page and the service manager. Invariant: "ready" is said once, after the listeners are up, and never again after a stop or a failure.

export type Phase = 'starting' | 'recovering' | 'ready' | 'stopping' | 'failed';

export class Readiness {
  phase: Phase = 'starting';
  /** How much of what there is to recover is done: 0 to 1. */
  recovered = 0;
  /** Why it failed. */
  private reason = '';
  /** What is not served although the daemon is ready. */
  private readonly missing: string[] = [];
  private readonly watchers: (() => void)[] = [];

  get isReady(): boolean {
    return this.phase === 'ready';
  }

  /** One line for people and scripts. */
  get text(): string {
    switch (this.phase) {
      case 'starting':
        return 'starting';
      case 'recovering':
        return `recovering ${Math.floor(this.recovered * 100)} %`;
      case 'ready':
        return ['ready', ...this.missing].join('; ');
      case 'stopping':
        return 'stopping';
      default:
        return `failed: ${this.reason}`;
    }
  }

  /** Calls `run` after every change of the phase or of what is recovered. */
  watch(run: () => void): void {
    this.watchers.push(run);
  }

  recovering(share: number): void {
    if (this.phase !== 'starting' && this.phase !== 'recovering') return;
    this.recovered = Math.max(this.recovered, Math.min(1, share));
    this.to('recovering');
  }

  /** Something that the daemon goes on without, e.g. a queue space with a damaged log. */
  without(what: string): void {
    this.missing.push(what);
  }

  ready(): void {
    if (this.phase !== 'starting' && this.phase !== 'recovering') return;
    this.recovered = 1;
    this.to('ready');
  }

  stopping(): void {
    if (this.phase !== 'failed') this.to('stopping');
  }

  /** The first reason stays. */
  failed(reason: string): void {
    if (this.phase === 'failed') return;
    this.reason = reason;
    this.to('failed');
  }

  private to(phase: Phase): void {
    this.phase = phase;
    for (const run of this.watchers) run();
  }
}

// Notices silence on a connection [PROTOCOL 7]. Counts ticks instead of reading a clock, so that a process that was stopped for a while does
// not take its own absence for the daemon's. Its timer does not keep the process alive.

/** Ticks in one heartbeat interval. */
const TICKS = 2;
/** Intervals without hearing anything after which the connection counts as dead. */
const INTERVALS_MAX = 3;

export interface HeartbeatPort {
  /** Nothing was sent for an interval. */
  ping(): void;
  /** Nothing was heard for three intervals. */
  dead(): void;
}

export class Heartbeat {
  private sent = false;
  private heardTicks = 0;
  private readonly timer: NodeJS.Timeout;
  private readonly port: HeartbeatPort;

  /** @param intervalMs more than 0 */
  constructor(intervalMs: number, port: HeartbeatPort) {
    this.port = port;
    this.timer = setInterval(() => this.tick(), Math.max(1, intervalMs / TICKS));
    this.timer.unref();
  }

  noteSent(): void {
    this.sent = true;
  }

  noteHeard(): void {
    this.heardTicks = 0;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private tick(): void {
    if (++this.heardTicks > TICKS * INTERVALS_MAX) {
      this.port.dead();
      return;
    }
    if (!this.sent) this.port.ping();
    this.sent = false;
  }
}

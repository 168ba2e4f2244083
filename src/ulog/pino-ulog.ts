// The daemon's log on pino: one JSON line per message. Inner layers know only the Ulog port.
import { pino, type Logger } from 'pino';
import type { LogFields, Ulog } from '../base/ulog.ts';
import { standardError, type LogOutput } from './log-output.ts';

export class PinoUlog implements Ulog {
  private readonly logger: Logger;
  private readonly output: LogOutput;

  constructor(fields: LogFields, output: LogOutput = standardError()) {
    this.output = output;
    this.logger = pino({ base: fields, timestamp: pinoTime }, output);
  }

  info(message: string, fields: LogFields = {}): void {
    this.sayLost();
    this.logger.info(fields, message);
  }
  warn(message: string, fields: LogFields = {}): void {
    this.sayLost();
    this.logger.warn(fields, message);
  }
  error(message: string, fields: LogFields = {}): void {
    this.sayLost();
    this.logger.error(fields, message);
  }

  /** For log rotation: goes on in a new file of the same name. */
  reopen(): void {
    try {
      const path = this.output.reopen();
      if (path !== null) this.info('the log file was opened again', { path });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.error(`${reason}; the log goes on in the old one`);
    }
  }

  flush(withinMs: number): Promise<void> {
    return this.output.flush(withinMs);
  }

  private sayLost(): void {
    const lost = this.output.takeLost();
    if (lost > 0) this.logger.warn({ lost }, 'log lines were lost: nobody read them, or the disk was full');
  }
}

function pinoTime(): string {
  return `,"time":"${new Date().toISOString()}"`;
}

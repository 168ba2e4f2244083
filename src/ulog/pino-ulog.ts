// The daemon's log on pino: one JSON line per message on standard error. Inner layers know only the Ulog port.
import { pino, destination as pinoDestination, type Logger } from 'pino';
import type { LogFields, Ulog } from '../base/ulog.ts';

export class PinoUlog implements Ulog {
  private readonly logger: Logger;

  constructor(fields: LogFields) {
    // Synchronous: the last words of a process that ends must not be lost.
    const destination = pinoDestination({ fd: 2, sync: true });
    // Whoever read the log has gone: the daemon goes on without one.
    destination.on('error', () => {});
    this.logger = pino({ base: fields, timestamp: pinoTime }, destination);
  }

  info(message: string, fields: LogFields = {}): void {
    this.logger.info(fields, message);
  }
  warn(message: string, fields: LogFields = {}): void {
    this.logger.warn(fields, message);
  }
  error(message: string, fields: LogFields = {}): void {
    this.logger.error(fields, message);
  }
}

function pinoTime(): string {
  return `,"time":"${new Date().toISOString()}"`;
}

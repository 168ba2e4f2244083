// The log port: what inner layers may say to the operator. `ulog/` implements it on pino; tests collect the lines.

export interface Ulog {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}
export type LogFields = Readonly<Record<string, string | number | boolean>>;

// Members of an AQ request, read with their types: the first thing wrong is kept, and said with what would be legal. Members that the verb does
// not have are refused, so that nothing given is ignored.
import { AQ_LIMIT } from '../../proto/aq/limits.ts';
import { TPERRNO } from '../../proto/codes.ts';
import type { Members, MemberValue } from '../../proto/message.ts';
import { aqError, aqFailed, type AqRefused } from './asked.ts';

export class Given {
  /** The first thing that is wrong; null: nothing so far. */
  fault: AqRefused | null = null;
  private readonly members: Members;
  private readonly asked = new Set<string>();

  constructor(members: Members) {
    this.members = members;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.members, name);
  }

  text(name: string, absent = ''): string {
    const value = this.value(name);
    if (value === undefined) return absent;
    if (typeof value === 'string') return value;
    return this.wrong(name, 'a string', absent);
  }

  /** The member `comment`. */
  comment(absent = ''): string {
    const value = this.text('comment', absent);
    if (value.length <= AQ_LIMIT.COMMENT) return value;
    const message = `comment: it has at most ${AQ_LIMIT.COMMENT} characters, found ${value.length}`;
    this.fault ??= aqFailed(TPERRNO.TPEINVAL, message);
    return absent;
  }

  /**
   * An integer in min..max.
   * @param error the AQ error of a value outside
   */
  whole(name: string, absent: number, rule: { min?: number; max?: number; error: number }): number {
    const value = this.value(name);
    if (value === undefined) return absent;
    const { min = -Infinity, max = Infinity, error } = rule;
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
    const legal = max === Infinity ? `an integer, at least ${min}` : `an integer in ${min}..${max}`;
    this.fault ??= aqError(error, `${name}: ${String(value)} is not legal; legal: ${legal}`);
    return absent;
  }

  /** One of the values of a constant's family. */
  oneOf(name: string, absent: number, rule: { of: readonly number[]; error: number }): number {
    const value = this.value(name);
    if (value === undefined) return absent;
    if (typeof value === 'number' && rule.of.includes(value)) return value;
    const legal = rule.of.join(', ');
    this.fault ??= aqError(rule.error, `${name}: ${String(value)} is not legal; legal: ${legal}`);
    return absent;
  }

  flag(name: string, absent: boolean): boolean {
    const value = this.value(name);
    if (value === undefined) return absent;
    if (typeof value === 'boolean') return value;
    return this.wrong(name, 'true or false', absent);
  }

  list(name: string): readonly string[] {
    const value = this.value(name);
    if (value === undefined) return [];
    if (Array.isArray(value)) return value as readonly string[];
    return this.wrong(name, 'a list of strings', []);
  }

  /** null: not given. Anything but `bytes` bytes in hexadecimal digits is wrong. */
  hex(name: string, bytes: number): Buffer | null {
    const value = this.value(name);
    if (value === undefined) return null;
    if (typeof value === 'string' && value.length === bytes * 2 && /^[\da-fA-F]*$/.test(value))
      return Buffer.from(value, 'hex');
    return this.wrong(name, `${bytes} bytes as ${bytes * 2} hexadecimal digits`, null);
  }

  /** Whatever was given and not asked for is wrong. */
  finish(): AqRefused | null {
    for (const name of Object.keys(this.members)) {
      if (this.asked.has(name)) continue;
      const legal = [...this.asked].sort().join(', ');
      this.fault ??= aqFailed(TPERRNO.TPEINVAL, `${name} is no member of this request; legal: ${legal}`);
    }
    return this.fault;
  }

  private value(name: string): MemberValue | undefined {
    this.asked.add(name);
    return this.has(name) ? this.members[name] : undefined;
  }

  private wrong<T>(name: string, legal: string, absent: T): T {
    this.fault ??= aqFailed(TPERRNO.TPEINVAL, `${name}: it has to be ${legal}`);
    return absent;
  }
}

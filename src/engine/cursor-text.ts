// A cursor as text that others keep and give back: opaque to them, checked when it comes back.
import type { Position } from '../queue/event.ts';
import { ID_PART_MAX, type MessageId } from '../queue/message.ts';
import type { Cursor } from '../queue/walk.ts';

/** Longer ones are none. */
export const CURSOR_BYTES_MAX = 512;
const BRANCH_MAX = 2 ** 32 - 1;

type Values = readonly unknown[];

export function cursorText(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(valuesOf(cursor))).toString('base64url');
}

/** null: it is none that `cursorText` gave. */
export function parseCursor(text: string): Cursor | null {
  if (text.length > CURSOR_BYTES_MAX) return null;
  try {
    const values: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return Array.isArray(values) ? cursorOf(values) : null;
  } catch {
    return null;
  }
}

function valuesOf(cursor: Cursor): Values {
  if (cursor.stage === 'held') return ['held', ...idValues(cursor.id), cursor.branch];
  if (cursor.stage !== 'ready') return [cursor.stage, ...idValues(cursor.id), cursor.dueMs];
  const { id, position } = cursor.place;
  const { top, priority, sortTimeMs, sortExpiryMs, base, label } = position;
  const never = sortExpiryMs === Infinity ? null : sortExpiryMs;
  const at = label === null ? null : Buffer.from(label).toString('hex');
  return ['ready', ...idValues(id), top, priority, sortTimeMs, never, ...idValues(base), at];
}
function idValues({ epoch, counter }: MessageId): number[] {
  return [epoch, counter];
}

function cursorOf([stage, epoch, counter, ...rest]: Values): Cursor | null {
  const id = idOf(epoch, counter);
  const [third] = rest;
  if (id === null) return null;
  if (stage === 'ready') {
    const position = positionOf(rest);
    return position === null ? null : { stage, place: { id, position } };
  }
  if (stage === 'held') return isWhole(third, BRANCH_MAX) ? { stage, id, branch: third } : null;
  if (stage !== 'space' && stage !== 'wall') return null;
  return isFiniteNumber(third) ? { stage, id, dueMs: third } : null;
}

function positionOf([top, priority, sortTimeMs, never, epoch, counter, at]: Values): Position | null {
  const base = idOf(epoch, counter);
  const sortExpiryMs = never === null ? Infinity : never;
  const isLabel = at === null || (typeof at === 'string' && /^(?:[0-9a-f]{2}){1,64}$/.test(at));
  if (base === null || !isLabel || typeof top !== 'boolean' || !isWhole(priority, 100)) return null;
  if (!isFiniteNumber(sortTimeMs) || typeof sortExpiryMs !== 'number') return null;
  const label = at === null ? null : Uint8Array.from(Buffer.from(at, 'hex'));
  return { top, priority, sortTimeMs, sortExpiryMs, base, label };
}

function idOf(epoch: unknown, counter: unknown): MessageId | null {
  return isWhole(epoch, ID_PART_MAX) && isWhole(counter, ID_PART_MAX) ? { epoch, counter } : null;
}
function isWhole(value: unknown, max: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max;
}
function isFiniteNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

// OPENINFO of a /Q group [spec 4.1]: `TUXEDO/QM:<device>:<space>`, or with `;` before the space. Owns that grammar and nothing else;
// whether a group needs one is groups.ts's business.

import { LIMIT } from '../../proto/codes.ts';
import { byteLength } from './values.ts';

export interface OpenInfo {
  /** As written; relative to APPDIR when not absolute. */
  readonly device: string;
  readonly space: string;
}

const PREFIX = 'TUXEDO/QM:';
const LEGAL = 'legal: "TUXEDO/QM:<device>:<space>", or ";" before the space';

/** The device and space, or what is wrong. */
export function parseOpenInfo(text: string): OpenInfo | string {
  if (!text.startsWith(PREFIX)) return `OPENINFO of a TMS_QM group must start with ${PREFIX}; ${LEGAL}`;
  const rest = text.slice(PREFIX.length);
  const at = rest.includes(';') ? rest.lastIndexOf(';') : rest.lastIndexOf(':');
  if (at < 0) return `OPENINFO has no queue space; ${LEGAL}`;
  const device = rest.slice(0, at).trim();
  const space = rest.slice(at + 1).trim();
  if (device === '') return `OPENINFO has no device; ${LEGAL}`;
  const bytes = byteLength(space);
  if (bytes < 1 || bytes > LIMIT.TMQSNAMELEN) {
    return `OPENINFO names a queue space of ${bytes} bytes; legal: 1..${LIMIT.TMQSNAMELEN}`;
  }
  return { device, space };
}

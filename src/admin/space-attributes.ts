// From the members that an administrator gives to the attributes of a queue space: each value checked, as qspacecreate and *QSPACES do [spec 5.3].
// Pure; the first thing wrong is said with what would be legal.
import { LIMIT } from '../../proto/codes.ts';
import type { Members, MemberValue } from '../../proto/message.ts';
import { SPACE_DEFAULTS, type SpaceAttributes } from '../queue/attributes.ts';
import { nameFits } from '../queue/words.ts';

export type CheckedSpace =
  | { readonly ok: true; readonly value: Partial<SpaceAttributes> }
  | { readonly ok: false; readonly fault: string };

const LONG_MAX = 2_147_483_647;
const IPCKEY_MAX = 262_143;
const BLOCKING_MAX = 100;
const BYTES: readonly string[] = ['nonPersistentBytes', 'filterBytes', 'overflowBytes'];

/** Of a space that is made: all but its name may be given. */
export function newSpace(name: string, members: Members): SpaceAttributes | string {
  if (!nameFits(name, LIMIT.TMQSNAMELEN)) {
    return `name: ${JSON.stringify(name)} is not legal; legal: 1..${LIMIT.TMQSNAMELEN} bytes without control characters`;
  }
  const checked = checkedSpace(members);
  if (!checked.ok) return checked.fault;
  const made = { ...SPACE_DEFAULTS, ...checked.value, name };
  return made.pages > 0 ? made : 'pages: 0 is not legal; legal: 1 or more';
}

export function checkedSpace(members: Members): CheckedSpace {
  for (const [name, value] of Object.entries(members)) {
    const legal = legalOf(name, value);
    if (legal !== '')
      return { ok: false, fault: `${name}: ${JSON.stringify(value)} is not legal; legal: ${legal}` };
  }
  return { ok: true, value: members };
}

/** '' or what would be. */
function legalOf(name: string, value: MemberValue): string {
  if (name === 'errorQueue') {
    const fits = typeof value === 'string' && (value === '' || nameFits(value, LIMIT.TMQSNAMELEN));
    return fits ? '' : `at most ${LIMIT.TMQSNAMELEN} bytes without control characters`;
  }
  if (name === 'name' || !Object.hasOwn(SPACE_DEFAULTS, name)) {
    const names = Object.keys(SPACE_DEFAULTS).filter((one) => one !== 'name');
    return `the members ${names.join(', ')}`;
  }
  const min = name === 'blocking' ? 1 : 0;
  const max = maxOf(name);
  const fits = typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max;
  return fits ? '' : `a whole number ${min}..${max}`;
}

function maxOf(name: string): number {
  if (name === 'blocking') return BLOCKING_MAX;
  if (name === 'ipcKey') return IPCKEY_MAX;
  return BYTES.includes(name) ? Number.MAX_SAFE_INTEGER : LONG_MAX;
}

// docs/atmi.md against the SDK, both ways: a call that the page says is here can be called where it says, one that it says is not here cannot;
// no call of the SDK is missing; and the constants are those of the tables.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as sdk from '../../clients/typescript/index.ts';
import { ServiceCall } from '../../clients/typescript/service.ts';

const page = readFileSync(new URL('../../docs/atmi.md', import.meta.url), 'utf8');
const [calls = '', constants = ''] = page.split('\n## Constants\n');
const rows = [...calls.matchAll(/^\| `(\w+)` \| ([\w, ]+) \|(.*)\|$/gm)].map(
  ([, name = '', here = '', notes = '']) => ({
    name,
    here,
    notes: notes.trim(),
  }),
);
/** The calls of spec §3, in its order, the two of queues, and that of spec §7. */
const SPEC =
  `tpinit tpterm tpgetctxt tpsetctxt tpchkauth tpalloc tprealloc tpfree tptypes tpbegin tpcommit tpabort tpsuspend tpresume
 tpgetlev tpscmt tpcall tpacall tpgetrply tpcancel tpsprio tpreturn tpforward tpadvertise tpunadvertise tpsvrinit tpsvrdone tpnotify
 tpbroadcast tpsetunsol tpchkunsol tpstrerror tpstrerrordetail userlog gp_mktime tpenqueue tpdequeue tpconnect tpsend tprecv tpdiscon tpadmcall`
    .split(/\s+/)
    .sort();

const functions: Readonly<Record<string, unknown>> = { ...sdk };

/** Where a call really is. */
function placeOf(name: string): string[] {
  const places: string[] = [];
  if (typeof functions[name] === 'function') places.push('function');
  if (name in sdk.Context.prototype) places.push('method');
  if (name in ServiceCall.prototype) places.push('request');
  return places;
}

const namesOf = (prototype: object): string[] => {
  const found = Object.getOwnPropertyNames(prototype);
  const parent: unknown = Object.getPrototypeOf(prototype);
  return parent === null || parent === Object.prototype ? found : [...found, ...namesOf(parent as object)];
};

const isCall = (name: string): boolean => /^(tp[a-z]+|userlog|gp_mktime)$/.test(name) && name !== 'tpurcode';

describe('docs/atmi.md', () => {
  it('has a row for every call of the spec', () => {
    const documented = new Set(rows.map(({ name }) => name));
    expect(SPEC.filter((name) => !documented.has(name))).toEqual([]);
    expect(documented.size).toBe(rows.length);
  });

  it.each(rows)('$name: $here', ({ name, here, notes }) => {
    if (here === 'not here' || here === 'not yet') {
      expect(placeOf(name)).toEqual([]);
      expect(notes).not.toBe('');
    } else {
      expect(placeOf(name)).toEqual(here === 'refused' ? ['method', 'request'] : here.split(', '));
    }
  });

  it('has a row for every call of the SDK', () => {
    const documented = new Set(rows.map(({ name }) => name));
    const all = [
      ...Object.keys(functions),
      ...namesOf(sdk.Context.prototype),
      ...namesOf(ServiceCall.prototype),
    ];
    expect(all.filter((name) => isCall(name) && !documented.has(name))).toEqual([]);
  });

  it('lists every constant of every table, and no other', () => {
    const tables = [...constants.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)].map(([, name = '', list = '']) => [
      name,
      list.split(', ').sort(),
    ]);
    const real = Object.entries(functions)
      .filter(([name, value]) => /^[A-Z_]+$/.test(name) && name.length > 2 && typeof value === 'object')
      // docs/aq.md has these.
      .filter(([name]) => !name.startsWith('DBMS_'))
      .map(([name, value]) => [name, Object.keys(value as object).sort()]);
    expect(Object.fromEntries(tables)).toEqual(Object.fromEntries(real));
  });
});

// docs/mib.md against the tables of the MIB and the spec: every attribute of every class has its row, with its type, permission, key and legal values;
// every code and flag its own; what is not counted is said to be.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { MIB, TAERROR } from '../../clients/typescript/index.ts';
import type { Attribute } from '../../clients/typescript/mib/attribute.ts';
import { NOT_COUNTED } from '../../clients/typescript/mib/t-appqspace.ts';
import { CLASSES } from '../../clients/typescript/mib/tpadmcall.ts';

const page = readFileSync(new URL('../../docs/mib.md', import.meta.url), 'utf8');
const [general = '', ...sections] = page.split(/\n### (?=T_)/);

/** The attributes of spec §7, in its order; of T_DEVICE those that a set-up uses. */
const SPEC: Readonly<Record<string, string>> = {
  T_DEVICE: 'CFGDEVICE DEVSIZE',
  T_APPQSPACE: `APPQSPACENAME QMCONFIG LMID BLOCKING ERRORQNAME FORCEINIT IPCKEY MAXMSG MAXPAGES MAXPROC MAXQUEUES MAXTRANS MAXACTIONS MAXHANDLES
 MAXOWNERS MAXTMPQUEUES MAXCURSORS MEMNONPERSIST MEMFILTERS MEMOVERFLOW MEMSYSTEMRESERVED MEMTOTALALLOCATED CUREXTENT CURMSG CURPROC CURQUEUES
 CURTRANS CURACTIONS CURHANDLES CUROWNERS CURTMPQUEUES CURCURSORS CURMEMNONPERSIST CURMEMFILTERS CURMEMOVERFLOW HWMSG HWPROC HWQUEUES HWTRANS
 HWACTIONS HWHANDLES HWOWNERS HWTMPQUEUES HWCURSORS HWMEMNONPERSIST HWMEMFILTERS HWMEMOVERFLOW PERCENTINIT`,
  T_APPQ: `APPQNAME APPQSPACENAME QMCONFIG LMID APPQORDER DEFEXPIRATIONTIME DEFDELIVERYPOLICY CMD CMDHW CMDLW CMDNONPERSIST CMDNONPERSISTHW
 CMDNONPERSISTLW MAXRETRIES OUTOFORDER RETRYDELAY CURBLOCKS CURMSG CURNONPERSISTBYTES CURNONPERSISTMSG`,
  T_APPQMSG: `APPQMSGID APPQNAME APPQSPACENAME QMCONFIG LMID NEWAPPQNAME PRIORITY TIME EXPIRETIME CORRID PERSISTENCE REPLYPERSISTENCE LOWPRIORITY
 HIGHPRIORITY MSGSTARTTIME MSGENDTIME MSGEXPIRESTARTTIME MSGEXPIREENDTIME CURRETRIES MSGSIZE`,
  T_APPQTRANS: 'XID APPQSPACENAME QMCONFIG LMID',
};

function legal({ type, min = 0, max, words, perms, key }: Attribute): string {
  if (perms === 'r' && key !== true) return '';
  if (words !== undefined) return words.join(', ');
  return type === 'string' ? `${min}..${max ?? 1024} bytes` : `${min}..${max ?? 2_147_483_647}`;
}

function rowsOf(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line.startsWith('| `'));
  return lines.map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

describe.each(Object.values(CLASSES))('docs/mib.md, $name', ({ name, attributes, getStates, setStates }) => {
  const section = sections.find((text) => text.startsWith(`${name}\n`)) ?? '';
  const rows = rowsOf(section);

  it('has the attributes of the spec', () => {
    const missing = (SPEC[name] ?? '').split(/\s+/).filter((one) => !(`TA_${one}` in attributes));
    expect(missing).toEqual([]);
    expect(SPEC[name]).toBeDefined();
  });

  it('has a row for every attribute, as the code has it', () => {
    const expected = Object.entries(attributes).map(([field, attribute]) => [
      `\`${field}\``,
      attribute.type,
      attribute.perms,
      attribute.key === true ? 'k' : '',
      attribute.needed ?? '',
      legal(attribute),
    ]);
    expect(rows.map((cells) => cells.slice(0, 6))).toEqual(expected);
  });

  it('names every state', () => {
    const missing = Object.keys({ ...getStates, ...setStates }).filter((one) => !section.includes(one));
    expect(missing).toEqual([]);
  });

  it('says what is not counted', () => {
    const said = rows
      .filter((cells) => cells[6] === '-1: not counted')
      .map(([field = '']) => field.slice(1, -1));
    expect(said.toSorted()).toEqual(name === 'T_APPQSPACE' ? NOT_COUNTED.toSorted() : []);
  });
});

it('docs/mib.md has every code and flag with its value', () => {
  const found = rowsOf(general).map(([name = '', value = '']) => `${name.slice(1, -1)} ${Number(value)}`);
  for (const [name, value] of Object.entries({ ...TAERROR, ...MIB }))
    expect(found).toContain(`${name} ${value}`);
});

// A printed model back as the text of a UBBCONFIG, for the test that printing loses nothing. Owns the notation: everything is quoted that
// may be, every parameter of the model is written, what is null is left out.

import type { PrintedEntry, PrintedModel, PrintedValue, PrintedValues } from '../../src/ubb/printed-model.ts';

export function writeUbb(model: PrintedModel): string {
  const { RESOURCES, ...sections } = model;
  const lines = ['*RESOURCES', ...words(RESOURCES).map(([key, text]) => `${key} ${text}`)];
  for (const [name, entries] of Object.entries(sections)) {
    if (entries.length > 0) lines.push(`*${name}`, ...entries.map(entryLine));
  }
  return `${lines.join('\n')}\n`;
}

function entryLine({ name, parameters }: PrintedEntry): string {
  return [quote(name), ...words(parameters).map(([key, text]) => `${key}=${text}`)].join(' ');
}

function words(values: PrintedValues): [key: string, text: string][] {
  return Object.entries(values).flatMap(([key, value]): [string, string][] =>
    value === null ? [] : [[key, wordOf(key, value)]],
  );
}

function wordOf(key: string, value: Exclude<PrintedValue, null>): string {
  if (typeof value === 'boolean') return value ? 'Y' : 'N';
  if (typeof value === 'number') return key === 'NONPERSIST' ? `${value}b` : `${value}`;
  return quote(typeof value === 'string' ? value : value.join(','));
}

function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

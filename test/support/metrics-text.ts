// The text form of Prometheus, read back strictly: every family has its help and type once, before its samples, which stand together; a line that is
// neither is an error.

export interface ReadSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}
export interface ReadFamily {
  readonly type: string;
  readonly help: string;
  readonly samples: ReadSample[];
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/gy;

export function readMetrics(text: string): Map<string, ReadFamily> {
  const families = new Map<string, ReadFamily>();
  let help: [string, string] | null = null;
  let current: [name: string, family: ReadFamily] = ['', { type: '', help: '', samples: [] }];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    if (line.startsWith('# HELP ')) {
      const [, name = '', said = ''] = /^# HELP (\S+) (.*)$/.exec(line) ?? [];
      help = [name, said];
    } else if (line.startsWith('# TYPE ')) {
      const [, name = '', type = ''] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
      if (help?.[0] !== name) throw new Error(`a type without its help: ${line}`);
      if (families.has(name)) throw new Error(`twice: ${line}`);
      current = [name, { type, help: help[1], samples: [] }];
      families.set(name, current[1]);
    } else {
      const [, name = '', labels = '', value = ''] = LINE.exec(line) ?? [];
      const [family, { type, samples }] = current;
      const endings = type === 'histogram' || type === 'summary' ? ['', '_bucket', '_sum', '_count'] : [''];
      if (family === '' || !endings.some((ending) => name === family + ending))
        throw new Error(`astray: ${line}`);
      samples.push({ name, labels: readLabels(labels), value: value === '+Inf' ? Infinity : Number(value) });
    }
  }
  return families;
}

function readLabels(text: string): Record<string, string> {
  const found = [...text.matchAll(LABEL)];
  const length = found.reduce((sum, [whole]) => sum + whole.length, 0);
  if (length !== text.length) throw new Error(`labels that cannot be read: ${text}`);
  return Object.fromEntries(
    found.map(([, name = '', value = '']) => [
      name,
      value.replaceAll(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : String(c))),
    ]),
  );
}

/** The value of the one sample with these labels, perhaps among others. */
export function valueOf(
  families: ReadonlyMap<string, ReadFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''));
  const found = (family?.samples ?? []).filter(
    (one) => one.name === name && Object.entries(labels).every(([label, is]) => one.labels[label] === is),
  );
  if (found.length !== 1) throw new Error(`${found.length} samples of ${name} ${JSON.stringify(labels)}`);
  return (found[0] as ReadSample).value;
}

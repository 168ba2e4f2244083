// How far an import has come, in a file beside the one that it reads: which file it is of, and before each commit the transaction and where its
// lines end. Invariant: the last line and what became of its transaction say exactly which messages are on the queue, whenever the import or
// the daemon was killed.
import { UsageError } from './exit.ts';
import { LineFile } from './line-file.ts';

export interface ImportOf {
  readonly qspace: string;
  readonly queue: string;
  /** The file as it was when the import began: so many bytes, and their digest. It may have grown since. */
  readonly bytes: number;
  readonly sha256: string;
}

/** Written before the commit of a transaction. */
export interface Step {
  /** Its id. */
  readonly tx: string;
  /** The position in the file where its lines begin, and where they end. */
  readonly from: number;
  readonly to: number;
  /** Messages put before it, and with it. */
  readonly before: number;
  readonly messages: number;
  /** The id of the queue space, as it stands in its msgids. */
  readonly space: string;
}

const VERSION = 1;

export class ImportState {
  private readonly file: LineFile;
  /** null: the import is new. */
  readonly of: ImportOf | null;
  /** The last one, if any. */
  readonly step: Step | null;

  private constructor(file: LineFile, of: ImportOf | null, step: Step | null) {
    this.file = file;
    this.of = of;
    this.step = step;
  }

  static async open(path: string): Promise<ImportState> {
    const file = await LineFile.open(path, 'an import');
    try {
      if (file.isEmpty) return new ImportState(file, null, null);
      const of = parsed(file.first());
      const last = file.last() === file.first() ? null : parsed(file.last());
      if (!isHead(of) || (last !== null && !isStep(last)))
        throw new UsageError(`${path} exists, and is no state of an import; legal: another --state`);
      return new ImportState(file, of, last);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  begin(of: ImportOf): Promise<void> {
    return this.file.append(JSON.stringify({ 'tmqueue-import': VERSION, ...of }));
  }

  note(step: Step): Promise<void> {
    return this.file.append(JSON.stringify(step));
  }

  close(): void {
    this.file.close();
  }
}

interface Head extends ImportOf {
  readonly 'tmqueue-import': number;
}

type Kinds<T> = Readonly<Record<keyof T, 'string' | 'number'>>;

const HEAD: Kinds<Head> = {
  'tmqueue-import': 'number',
  qspace: 'string',
  queue: 'string',
  bytes: 'number',
  sha256: 'string',
};
const STEP: Kinds<Step> = {
  tx: 'string',
  from: 'number',
  to: 'number',
  before: 'number',
  messages: 'number',
  space: 'string',
};

/** null: it is no JSON object. */
function parsed(line: string): object | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

function isHead(value: object | null): value is Head {
  return (
    fits(value, HEAD) &&
    Object.entries(value ?? {}).some(([key, one]) => key === 'tmqueue-import' && one === VERSION)
  );
}

function isStep(value: object | null): value is Step {
  return fits(value, STEP);
}

function fits(value: object | null, kinds: Readonly<Record<string, string>>): boolean {
  const members = new Map<string, unknown>(Object.entries(value ?? {}));
  return Object.entries(kinds).every(([name, kind]) => typeof members.get(name) === kind);
}

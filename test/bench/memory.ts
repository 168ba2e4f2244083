// npm run bench:memory: what a queued message takes in memory, and how long a full garbage collection is with all of them queued. Each
// measurement is a process of its own with a space and a log of its own. Exit code 1: over a limit; 2: it could not be measured.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runChild } from './ipc.ts';
import type { FillResult, FillTask } from './memory/task.ts';
import { exitOnSignals, Scratch } from './scratch.ts';

const RESIDENT_BYTES_MAX = 128;
const CORRID_BYTES_MAX = 48;
const COLLECTION_MS_MAX = 20;
const USAGE = `usage: npm run bench:memory -- [--messages 2000000] [--no-corrids] [--report-only] [--dir DIR] [--keep]`;
/** A message a hundredth of a millisecond, and what a start takes. */
const CHILD_MS_PER_MESSAGE = 0.2;
const CHILD_MS = 120_000;

async function main(): Promise<number> {
  const { values } = parseArgs({
    allowNegative: true,
    options: {
      messages: { type: 'string', default: '2000000' },
      corrids: { type: 'boolean', default: true },
      'report-only': { type: 'boolean', default: false },
      dir: { type: 'string', default: '' },
      keep: { type: 'boolean', default: false },
    },
  });
  const messages = Number(values.messages);
  if (!Number.isSafeInteger(messages) || messages < 1000)
    throw new Error(`--messages ${values.messages}\n${USAGE}`);
  exitOnSignals();
  const scratch = new Scratch(values.dir, values.keep);
  try {
    const plain = await fill(scratch, messages, false);
    print('without corrid', plain);
    const holds = [
      judge('resident bytes a message', plain.residentBytes, RESIDENT_BYTES_MAX),
      judge('a full garbage collection, ms', plain.collectionMs, COLLECTION_MS_MAX),
    ];
    if (values.corrids) {
      const corrids = await fill(scratch, messages, true);
      print('with corrid', corrids);
      holds.push(
        judge('what a corrid adds, bytes', corrids.residentBytes - plain.residentBytes, CORRID_BYTES_MAX),
      );
      holds.push(
        judge('a full garbage collection with corrids, ms', corrids.collectionMs, COLLECTION_MS_MAX),
      );
    }
    return values['report-only'] || holds.every(Boolean) ? 0 : 1;
  } finally {
    scratch.remove();
  }
}

async function fill(scratch: Scratch, messages: number, corrids: boolean): Promise<FillResult> {
  const directory = join(scratch.path, corrids ? 'corrid' : 'plain');
  mkdirSync(directory);
  const task: FillTask = { directory, messages, corrids };
  const timeoutMs = CHILD_MS + CHILD_MS_PER_MESSAGE * messages;
  const result = await runChild<FillResult>({ script: 'memory/fill.js', timeoutMs }, task);
  scratch.remove(directory);
  return result;
}

function print(title: string, result: FillResult): void {
  const { residentBytes, tableBytes, collectionMs, heapBytes, seconds } = result;
  console.log(
    `${title}: ${residentBytes.toFixed(1)} bytes resident a message (${tableBytes.toFixed(1)} in tables), ` +
      `collection ${collectionMs.toFixed(1)} ms, heap ${(heapBytes / 1e6).toFixed(1)} MB, filled in ${seconds.toFixed(1)} s`,
  );
}

function judge(what: string, value: number, most: number): boolean {
  const holds = value <= most;
  console.log(`${holds ? 'holds ' : 'FAILS '} ${what}: ${value.toFixed(1)}, at most ${most}`);
  return holds;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error);
    process.exitCode = 2;
  },
);

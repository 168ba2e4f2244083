// The programs of clients/typescript/examples as a newcomer runs them: processes of their own beside a daemon on config/samples/examples.ubb;
// and their page names every one of them. The bank transfer is killed in test/crash/bank-transfer.test.ts.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { daemonForAll, eventually } from '../support/in-process.ts';
import { Example, EXAMPLES_UBB } from '../support/example.ts';

const FOLDER = join(import.meta.dirname, '../../clients/typescript/examples');
const WITHIN_MS = 30_000;
const daemon = daemonForAll(EXAMPLES_UBB);
beforeAll(async () => void (await daemon.join()));

const run = (program: string, ...words: string[]): Example => new Example(daemon.address, program, words);

describe('an example', () => {
  it('request and reply', async () => {
    run('string-server');
    const { code, out, err } = await run('client', 'hello').ended;
    expect({ code, out, err }).toEqual({ code: 0, out: 'hello → HELLO\nhello → HELLO\n', err: '' });
  });

  it('peer to peer: what is written waits for the other, both say goodbye', async () => {
    const alice = run('peer-to-peer', 'ALICE', 'BOB');
    alice.child.stdin?.write('hello Bob\nare you there?\n');
    await eventually(async () => (await daemon.queue('BOB')).messages === 2, WITHIN_MS);
    const bob = run('peer-to-peer', 'BOB', 'ALICE');
    await eventually(() => bob.out === 'ALICE: hello Bob\nALICE: are you there?\n', WITHIN_MS);
    bob.child.stdin?.end('I am\n');
    await eventually(() => alice.out.includes('BOB has gone'), WITHIN_MS);
    alice.child.stdin?.end();
    const ends = await Promise.all([alice.ended, bob.ended]);
    expect(ends.map(({ code, err }) => [code, err])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    expect(ends[0]?.out).toBe('BOB: I am\nBOB has gone\n');
    expect(ends[1]?.out).toBe('ALICE: hello Bob\nALICE: are you there?\nALICE has gone\n');
    expect([(await daemon.queue('ALICE')).messages, (await daemon.queue('BOB')).messages]).toEqual([0, 0]);
  });

  it('sequential processing: three steps, three answers', async () => {
    const { code, out, err } = await run('sequential', 'coffee').ended;
    expect([code, err]).toEqual([0, '']);
    const lines = out.trimEnd().split('\n');
    expect(lines.filter((line) => line.endsWith(': coffee'))).toEqual([
      'RESERVE: coffee',
      'CHARGE: coffee',
      'SHIP: coffee',
    ]);
    const steps = lines.filter((line) => line.startsWith('order '));
    expect(steps.map((line) => line.replace(/^order \d+: /, ''))).toEqual([
      '1 of 3 steps are done',
      '2 of 3 steps are done',
      '3 of 3 steps are done',
    ]);
    const left = ['RESERVE', 'CHARGE', 'SHIP', 'PROGRESS', 'ERRQ'].map(
      async (q) => (await daemon.queue(q)).messages,
    );
    expect(await Promise.all(left)).toEqual([0, 0, 0, 0, 0]);
  });

  it('says how it is used', async () => {
    for (const program of ['peer-to-peer', 'bank-transfer']) {
      const { code, err } = await run(program).ended;
      expect([code, err]).toEqual([64, expect.stringContaining(`usage: node ${program}.js`)]);
    }
  });
});

it('the page names every program of the folder, and no other', () => {
  const page = readFileSync(join(FOLDER, 'README.md'), 'utf8');
  const named = [...page.matchAll(/\[`([\w-]+\.ts)`\]\(\1\)/g)].map(([, file]) => file ?? '').toSorted();
  expect(named).toEqual(
    readdirSync(FOLDER)
      .filter((file) => file.endsWith('.ts'))
      .toSorted(),
  );
});

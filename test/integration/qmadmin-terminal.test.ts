// qmadmin at a real terminal: greeting, prompts, completion, recall, confirmation, pages, Ctrl-C and Ctrl-D.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { hasPty, Pty } from '../support/pty.ts';
import { localDevice, runScript } from '../support/qmadmin.ts';
import { tempDir } from '../support/temp-dir.ts';

const COMMAND = join(import.meta.dirname, '../../dist/src/cli/qmadmin.js');
const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const UP = '\u001b[A';

async function deviceWithSpace(): Promise<string> {
  const path = `${tempDir()}/dev`;
  const ran = await runScript(
    [
      `crdl ${path} 0 1000`,
      'qspc SPACE1 230458 100 4 5 5 200 ERR y 16',
      'qopen SPACE1',
      'qcr REQUESTS fifo none 0 0 100% 0 ""',
      'qcr "WITH BLANK" fifo none 0 0 100% 0 ""',
    ],
    localDevice(path),
  );
  expect(ran.err).toEqual([]);
  return path;
}

it.skipIf(!hasPty)('a dialogue', async () => {
  const path = await deviceWithSpace();
  const pty = new Pty([process.execPath, COMMAND, path], { rows: 12, columns: 150 });
  expect(await pty.shown(/> $/)).toContain(`qmadmin: device ${path}, the daemon is stopped`);

  // Commands, the names of spaces, and those of queues.
  await pty.type('qop\t', /qopen $/);
  await pty.type('S\t', /SPACE1 $/);
  await pty.type('\r', /queue space SPACE1 is open, the daemon is stopped[^]*> $/);
  await pty.type('qinfo R\t', /REQUESTS $/);
  await pty.type('\r', /Queue REQUESTS: 0 [^]*> $/);
  await pty.type('qinfo "W\t', /"WITH BLANK" $/);
  await pty.type('\r', /Queue "WITH BLANK": 0 [^]*> $/);
  await pty.type('qpause RE\t', /REQUESTS $/);
  await pty.type('d\t', /deq $/);
  await pty.type('\r', /queue REQUESTS is closed for dequeue[^]*> $/);

  // One answer a line; a wrong one is asked for again; Ctrl-C ends it, and nothing is there.
  await pty.type('qcreate\r', /Queue name: $/);
  await pty.type('NEW\r', /Queue order \(priority, time, expiration, fifo, lifo\) \[default=fifo\]: $/);
  const wrong = await pty.type('random\r', /legal: a list of[^]*\[default=fifo\]: $/);
  expect(wrong).toContain('qmadmin: qcreate: queue order: random is not legal');
  await pty.type(CTRL_C, /> $/);
  await pty.type('qinfo NEW\r', /queue space SPACE1 has no queue NEW[^]*> $/);

  // Commands are recalled, answers are not.
  await pty.type(UP + UP, /qcreate$/);
  await pty.type(CTRL_C, /> $/);

  // A question for a name completes it too.
  await pty.type('qdestroy\r', /Queue name: $/);
  await pty.type('REQ\t', /REQUESTS $/);
  await pty.type('\r', /Really destroy queue REQUESTS with 0 messages\? \(y, n\) \[default=n\]: $/);
  await pty.type('\r', /nothing was done[^]*> $/);
  await pty.type('qdestroy REQUESTS\r', /Really [^]*: $/);
  await pty.type('y\r', /queue REQUESTS was destroyed with 0 messages[^]*> $/);

  // A long listing stops at the end of the screen.
  const page = await pty.type('help\r', /-- RETURN: go on, q: no more -- $/);
  expect(page.split('\n')).toHaveLength(1 + 11 + 1);
  await pty.type('\r', /-- RETURN: go on, q: no more -- $/);
  await pty.type('q\r', /> $/);
  await pty.type('page off\r', /paginate is off[^]*> $/);
  await pty.type('help\r', /a comment[^]*> $/);

  // The end of the input in a dialogue does nothing; at the prompt it leaves.
  await pty.type('qspacedestroy SPACE1\r', /Really destroy queue space SPACE1\? [^]*: $/);
  await pty.type(CTRL_C, /nothing was done[^]*> $/);
  await pty.type(CTRL_D, /$/);
  expect(await pty.exit).toBe(0);
  expect(existsSync(`${path}/SPACE1`)).toBe(true);
});

it.skipIf(!hasPty)('Ctrl-D in a dialogue: nothing is done, and the session ends', async () => {
  const path = await deviceWithSpace();
  const pty = new Pty([process.execPath, COMMAND, path], { rows: 40, columns: 150 });
  await pty.shown(/> $/);
  await pty.type('qopen SPACE1\r', /is open[^]*> $/);
  await pty.type('qcreate NEW\r', /\[default=fifo\]: $/);
  await pty.type(CTRL_D, /the input ends at the question for the queue order: nothing was done/);
  expect(await pty.exit).toBe(0);
  const { out } = await runScript(['qopen SPACE1', 'qinfo'], localDevice(path));
  expect(out.some((line) => line.includes('NEW'))).toBe(false);
});

// A scene from its first command to its end, as lines when something is wrong.
import { same } from './check.ts';
import { termsText, textOf, type Command, type Scene } from './commands.ts';
import { System, type Options } from './system.ts';

/** Runs a scene; what went before is part of the message when something is wrong. Returns how many commands it ran. */
export async function runScene(scene: Scene, options: Options = {}): Promise<number> {
  const system = new System(scene.space, options);
  const lines: string[] = [];
  try {
    await system.begin(scene);
    for (const step of scene.steps) {
      lines.push(textOf(step));
      await system.step(step);
      if (system.note !== '') lines.push(`${lines.pop()}   → ${system.note}`);
    }
    lines.push('the end: everything is rolled back, and every queue emptied');
    await finish(system);
  } catch (error) {
    const queues = scene.queues.map((terms) => `queue ${termsText(terms)}`);
    const about = [`a space ${termsText(scene.space)}`, ...queues, ...lines].join('\n  ');
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    throw new Error(`${about}   → ${system.note}\n${reason}`, { cause: error });
  }
  return scene.steps.length;
}

/** More instants than a scene leaves behind. */
const ROUNDS_MAX = 200;

/** Everything open is rolled back and every queue emptied: in the order of the model's arrays. */
async function finish(system: System): Promise<void> {
  const { model } = system;
  const run = (command: Command): Promise<void> => system.step({ command, turn: true });
  await run({ op: 'release syncs' });
  for (const tx of system.openTransactions) await run({ op: 'rollback', tx });
  const change = { enqueuePaused: false, dequeuePaused: false };
  for (const queue of model.queues.keys()) await run({ op: 'alter', queue, change });
  for (let round = 0; round < ROUNDS_MAX; round++) {
    for (const queue of model.queues.keys()) await empty(system, queue);
    const next = model.next();
    if (next === Infinity) break;
    await run({ op: 'advance', ms: Math.ceil((next - model.mono) / 100) * 100 });
  }
  same('messages at the end', system.theEngine.space.messages.live, 0);
  same('entries at the end', system.theEngine.space.entries.live, 0);
}

async function empty(system: System, queue: string): Promise<void> {
  const given = { queue, tx: 0, msgid: null, corrid: 0, peek: false, wait: 0, only: null } as const;
  do await system.step({ command: { op: 'dequeue', ...given }, turn: true });
  while (system.note.includes('#'));
}

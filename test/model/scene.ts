// A scene from its first command to its end, as lines when something is wrong.
import { termsText, textOf, type Scene } from './commands.ts';
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
    await system.finish();
  } catch (error) {
    const queues = scene.queues.map((terms) => `queue ${termsText(terms)}`);
    const about = [`a space ${termsText(scene.space)}`, ...queues, ...lines].join('\n  ');
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    throw new Error(`${about}   → ${system.note}\n${reason}`, { cause: error });
  }
  return scene.steps.length;
}

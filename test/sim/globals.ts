// The SDK has no clock port: a client library takes time from the globals of JavaScript. While a simulation runs these are the world's, so
// that whatever a client starts happens there. Invariant: they are the real ones again when the run has ended, however it ends.
import type { Happening, World } from './world.ts';

/** What setTimeout and setInterval give. */
class SimTimer {
  happening: Happening | null = null;
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  hasRef(): boolean {
    return true;
  }
}

function clear(timer: SimTimer | undefined): void {
  timer?.happening?.cancel();
}

const NAMES = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate'] as const;

/** Gives the globals to a world; returns how to give them back. */
export function takeGlobals(world: World): () => void {
  const before = NAMES.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const);
  const simulated: Record<(typeof NAMES)[number], unknown> = {
    setTimeout: (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): SimTimer => {
      const timer = new SimTimer();
      timer.happening = world.after(Math.max(1, ms), () => run(...args));
      return timer;
    },
    setInterval: (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): SimTimer => {
      const timer = new SimTimer();
      const again = (): void => {
        timer.happening = world.after(Math.max(1, ms), () => {
          again();
          run(...args);
        });
      };
      again();
      return timer;
    },
    setImmediate: (run: (...args: unknown[]) => void, ...args: unknown[]): SimTimer => {
      const timer = new SimTimer();
      timer.happening = world.after(0, () => run(...args));
      return timer;
    },
    clearTimeout: clear,
    clearInterval: clear,
  };
  for (const name of NAMES) {
    Object.defineProperty(globalThis, name, { value: simulated[name], configurable: true, writable: true });
  }
  const realNow = Object.getOwnPropertyDescriptor(performance, 'now');
  Object.defineProperty(performance, 'now', { value: () => world.nowMs, configurable: true, writable: true });
  return () => {
    for (const [name, descriptor] of before) {
      if (descriptor !== undefined) Object.defineProperty(globalThis, name, descriptor);
    }
    if (realNow === undefined) Reflect.deleteProperty(performance, 'now');
    else Object.defineProperty(performance, 'now', realNow);
  };
}

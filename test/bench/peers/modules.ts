// Clients of other systems that are packages: loaded when they are installed, and no dependency of ours. What they export is described
// where it is used, by the few members that are called.
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

/** Whether a package is installed in that folder's node_modules, or above. */
export function hasModule(name: string, modules: string): boolean {
  try {
    requireFrom(modules).resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** What the package exports. */
export function loadModule(name: string, modules: string): unknown {
  return requireFrom(modules)(name) as unknown;
}

function requireFrom(modules: string): NodeJS.Require {
  return createRequire(join(resolve(modules), 'any.js'));
}

/** Those of the names that are not installed, as words. */
export function missingOf(checks: Readonly<Record<string, boolean>>): string {
  return Object.keys(checks)
    .filter((name) => checks[name] === false)
    .join(' and ');
}

// Assertions stay on in production: a crash is recoverable, a bad record is not. One relation each.

/** An impossible state was met; the process must end. */
export class AssertionError extends Error {
  override name = 'AssertionError';
}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** For the default branch of an exhaustive switch. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${JSON.stringify(value)}`);
}

// Assertions stay on in production: a crash is recoverable, a bad record is not. One relation each.

/** An impossible state was met; the process must end. */
export class AssertionError extends Error {
  override name = 'AssertionError';
}

/** `about`: the number it is about, so that no text is made while all is well. */
export function assert(condition: boolean, message: string, about?: number): asserts condition {
  if (!condition) throw new AssertionError(about === undefined ? message : `${message}: ${about}`);
}

/** For the default branch of an exhaustive switch. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${JSON.stringify(value)}`);
}

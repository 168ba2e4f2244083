// The one function we use of the lock library: an exclusive lock on the open file description (OFD lock, `flock` on macOS).
declare module 'fs-native-extensions' {
  /** False when someone else holds it. The lock ends with the descriptor, so also with the process. */
  export function tryLock(fd: number): boolean;
}

// What the operator must do about a disk that fails, by the code of the error: said once, with the error, where the daemon ends or does not
// start. It must not know where the error came from.

const ADVICE: Readonly<Record<string, string>> = {
  EIO: 'the disk reports errors: look at the kernel log (dmesg) and at the disk, then start again',
  ENOSPC:
    'there is no room, even for bytes that the file system had promised (thin provisioning, copy on write, a quota): free some, then start again',
  EROFS:
    'the file system is read-only, often after an error: look at the kernel log (dmesg), check it, mount it for writing, then start again',
  ENOENT:
    'a file or folder of the device is gone: put it back or mount its disk, then start again; without it a start may make a new, empty queue space',
  EACCES: 'the daemon may not use a file of the device: mend its owner and mode, then start again',
  EMFILE: 'out of file descriptors: raise their limit (ulimit -n), then start again',
  ENFILE:
    'the machine is out of file descriptors: end what uses so many, or raise fs.file-max, then start again',
};
const SAME: Readonly<Record<string, string>> = {
  EDQUOT: 'ENOSPC',
  EFBIG: 'ENOSPC',
  EPERM: 'EACCES',
  ENOTDIR: 'ENOENT',
};

/** A sentence, or '' when the error is not one of a disk. */
export function adviceFor(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    const advice = ADVICE[SAME[code] ?? code];
    if (advice !== undefined) return advice;
  }
  return '';
}

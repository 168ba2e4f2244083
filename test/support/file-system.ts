// Real small file systems for tests: a tmpfs, or an ext4 in a file whose power can be cut. Only where this process may mount; where it may not,
// `mayMount` says why, and the test says so and is skipped. Everything is unmounted and removed with the test.
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** `FS_IOC_SHUTDOWN` with the flag for "no flush of the journal": what is not on the device by then never comes to it [log port 4]. */
const SHUTDOWN =
  'open(my $d, "<", $ARGV[0]) or die "open: $!"; my $f = pack("L", 2); ioctl($d, 0x8004587d, $f) or die "ioctl: $!"';

function run(program: string, words: readonly string[]): string {
  const { status, error, stderr } = spawnSync(program, words, { encoding: 'utf8' });
  if (status === 0) return '';
  return `${program} ${words.join(' ')}: ${error?.message ?? (stderr.trim() || `exit ${status}`)}`;
}

function must(program: string, words: readonly string[]): void {
  const failure = run(program, words);
  if (failure !== '') throw new Error(failure);
}

/** '' or why such a file system cannot be mounted here. */
export function mayMount(kind: 'tmpfs' | 'ext4'): string {
  const folder = mkdtempSync(join(tmpdir(), 'tmqueue-mount-'));
  try {
    if (kind === 'tmpfs') {
      const failure = run('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmqueue-test', folder]);
      return failure !== '' ? failure : run('umount', [folder]);
    }
    const image = join(folder, 'image');
    const point = mkdtempSync(join(tmpdir(), 'tmqueue-mount-'));
    try {
      makeImage(image, 8);
      const failure = run('mount', ['-o', 'loop', image, point]);
      if (failure !== '') return failure;
      const cut = run('perl', ['-e', SHUTDOWN, point]);
      return [cut, run('umount', [point])].filter((text) => text !== '').join('; ');
    } finally {
      rmdirSync(point);
    }
  } catch (error) {
    return String(error);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function makeImage(path: string, megabytes: number): void {
  const fd = openSync(path, 'wx');
  ftruncateSync(fd, megabytes * 1024 * 1024);
  closeSync(fd);
  must('mkfs.ext4', ['-q', '-F', path]);
}

export class SmallFileSystem {
  readonly folder = mkdtempSync(join(tmpdir(), 'tmqueue-fs-'));
  private readonly image: string | null;
  private readonly mountWords: readonly string[];
  private isMounted = false;

  private constructor(image: string | null, mountWords: readonly string[]) {
    this.image = image;
    this.mountWords = mountWords;
    onTestFinished(() => this.remove());
    this.mount();
  }

  static tmpfs(options: string): SmallFileSystem {
    return new SmallFileSystem(null, ['-t', 'tmpfs', '-o', options, 'tmqueue-test']);
  }

  static ext4(megabytes: number, options = ''): SmallFileSystem {
    const image = join(mkdtempSync(join(tmpdir(), 'tmqueue-image-')), 'image');
    makeImage(image, megabytes);
    return new SmallFileSystem(image, ['-o', options === '' ? 'loop' : `loop,${options}`, image]);
  }

  mount(): void {
    must('mount', [...this.mountWords, this.folder]);
    this.isMounted = true;
  }

  unmount(): void {
    must('umount', [this.folder]);
    this.isMounted = false;
  }

  /** From here on nothing reaches the device any more; every call on it fails. */
  cutPower(): void {
    must('perl', ['-e', SHUTDOWN, this.folder]);
  }

  /** The kernel finds an error in an ext4 that was mounted with errors=remount-ro. */
  failToReadOnly(): void {
    const source = execFileSync('findmnt', ['-n', '-o', 'SOURCE', this.folder], { encoding: 'utf8' }).trim();
    writeFileSync(`/sys/fs/ext4/${basename(source)}/trigger_fs_error`, 'ordered by a test');
  }

  /** What an operator does after that. */
  repair(): void {
    const { status } = spawnSync('e2fsck', ['-f', '-y', this.image ?? '']);
    // 1: errors were mended.
    if (status !== 0 && status !== 1) throw new Error(`e2fsck ended with ${status}`);
  }

  private remove(): void {
    if (this.isMounted) this.unmount();
    rmdirSync(this.folder);
    if (this.image !== null) rmSync(join(this.image, '..'), { recursive: true, force: true });
  }
}

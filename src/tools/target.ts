// Where a tool may write a new log: a name that nothing has, or an empty directory.
import { errorCode, readFully, writeFully, type FileIo } from '../wal/local/file-io.ts';
import type { OwnDirectory } from './own-directory.ts';

/** The new log may not be made here. */
export class TargetError extends Error {
  override name = 'TargetError';
}

/** Only what does not exist, or an empty directory, is written to. */
export async function refuseUsed(into: string, io: FileIo): Promise<void> {
  try {
    const names = await io.readdir(into);
    if (names.length > 0) throw new TargetError(`${into} exists and is not empty: name a new directory`);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOTDIR') throw new TargetError(`${into} is not a directory: name a new one`);
    if (code !== 'ENOENT') throw error;
  }
}

/** Takes what was written under its final name, where nothing may be by now. */
export async function finish(own: OwnDirectory, into: string, parent: string): Promise<void> {
  try {
    await own.become(into, parent);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(errorCode(error))) throw error;
    throw new TargetError(`${into} has come into being meanwhile: name a new directory`);
  }
}

/** What qmadmin keeps beside the spaces of a device. */
const DEVICE_LIST = 'device-list.json';

/** As it is, when there is one. */
export async function copyDeviceList(from: string, to: string, io: FileIo): Promise<void> {
  if (!(await io.readdir(from)).includes(DEVICE_LIST)) return;
  const source = io.open(`${from}/${DEVICE_LIST}`, 'read');
  const target = io.open(`${to}/${DEVICE_LIST}`, 'create');
  try {
    const bytes = Buffer.alloc(io.fileBytes(source));
    await readFully({ io, fd: source }, bytes, 0);
    await writeFully({ io, fd: target }, bytes, 0);
    await io.fdatasync(target);
  } finally {
    io.close(source);
    io.close(target);
  }
}

// The device list of a device: entries, and which space took how many pages. It is a small JSON file in the device's directory, written
// beside, synced, renamed; so it is the old or the new one after any crash. Read strictly: what is not understood is refused, not dropped.
//
//     {"format": 1, "entries": [{"device": "/q/dev", "offset": 0, "pages": 200}], "extents": [{"space": "QSPACE", "pages": 100}]}
//
// To raise the format: write the new number, read both, and say so in docs/qmadmin.md. Must not know queue spaces.
import { errorCode, readFully, writeFully, type FileIo } from '../wal/local/file-io.ts';
import { RefusedError, type DeviceContents, type DeviceEntry, type Extent } from './device.ts';

const FILE = 'device-list.json';
const FORMAT = 1;
const BYTES_MAX = 1_048_576;

/** Empty when the device has none: then it was made by a daemon, or by nobody yet. */
export async function readDeviceList(io: FileIo, device: string): Promise<DeviceContents> {
  const path = `${device}/${FILE}`;
  let fd: number;
  try {
    fd = io.open(path, 'read');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { entries: [], extents: [] };
    throw error;
  }
  try {
    const bytes = Buffer.alloc(Math.min(io.fileBytes(fd), BYTES_MAX + 1));
    await readFully({ io, fd }, bytes, 0);
    return parse(bytes, path);
  } finally {
    io.close(fd);
  }
}

/** Durable when it resolves. */
export async function writeDeviceList(io: FileIo, device: string, contents: DeviceContents): Promise<void> {
  const path = `${device}/${FILE}`;
  const { entries, extents } = contents;
  const bytes = Buffer.from(`${JSON.stringify({ format: FORMAT, entries, extents }, null, 2)}\n`);
  const fd = io.open(`${path}.tmp`, 'ensure');
  try {
    await io.truncate(fd, 0);
    await writeFully({ io, fd }, bytes, 0);
    await io.fdatasync(fd);
  } finally {
    io.close(fd);
  }
  await io.rename(`${path}.tmp`, path);
  await io.fsyncDir(device);
}

function parse(bytes: Buffer, path: string): DeviceContents {
  const damaged = (why: string): RefusedError =>
    new RefusedError(`the device list ${path} is damaged: ${why}; it is left as it is`);
  if (bytes.length > BYTES_MAX) throw damaged(`more than ${BYTES_MAX} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch {
    throw damaged('it is no JSON');
  }
  if (!isRecord(value)) throw damaged('it is no object');
  const { format, entries, extents, ...others } = value;
  if (format !== FORMAT) {
    const found = typeof format === 'number' ? `format ${format}` : 'no format';
    throw new RefusedError(`the device list ${path} has ${found}; this release reads format ${FORMAT}`);
  }
  if (Object.keys(others).length > 0) throw damaged(`unknown member ${Object.keys(others).join(', ')}`);
  if (!isListOf(entries, isEntry)) throw damaged('entries are {device, offset, pages}');
  if (!isListOf(extents, isExtent)) throw damaged('extents are {space, pages}');
  return { entries, extents };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOf<T>(value: unknown, is: (item: unknown) => item is T): value is T[] {
  return Array.isArray(value) && value.every(is);
}

function isEntry(item: unknown): item is DeviceEntry {
  if (!isRecord(item) || Object.keys(item).length !== 3) return false;
  return typeof item['device'] === 'string' && isCount(item['offset']) && isCount(item['pages']);
}

function isExtent(item: unknown): item is Extent {
  if (!isRecord(item) || Object.keys(item).length !== 2) return false;
  return typeof item['space'] === 'string' && isCount(item['pages']);
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

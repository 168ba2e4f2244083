// The ownership of a device: one holder, free after a kill, whatever the file says.

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { DeviceLock } from '../../src/wal/local/device-lock.ts';
import { FaultyFileIo, MemoryDisk } from '../fault/faulty-file-io.ts';
import { tempDir } from '../support/temp-dir.ts';

const HOLDER = `
const fs = require('node:fs');
const { tryLock } = require('fs-native-extensions');
const fd = fs.openSync(process.argv[1], 'a+');
if (!tryLock(fd)) process.exit(1);
fs.ftruncateSync(fd, 0);
fs.writeSync(fd, String(process.pid) + '\\n');
process.stdout.write('held');
setInterval(() => {}, 1 << 30);
`;

async function otherProcess(device: string): Promise<ChildProcess> {
  const cwd = `${import.meta.dirname}/../..`;
  const child = spawn(process.execPath, ['-e', HOLDER, `${device}/LOCK`], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  await once(child.stdout, 'data');
  return child;
}

test('a second holder is refused, by name and pid; after a kill the device is free at once', async () => {
  const device = tempDir();
  const child = await otherProcess(device);
  const refused = DeviceLock.acquire(device, process.pid);
  await expect(refused).rejects.toMatchObject({
    kind: 'Unavailable',
    message: expect.stringContaining(device),
  });
  await expect(refused).rejects.toThrow(`(pid ${child.pid})`);
  const link = `${tempDir()}/link`;
  symlinkSync(device, link);
  await expect(DeviceLock.acquire(link, process.pid)).rejects.toThrow(`(pid ${child.pid})`);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const lock = await DeviceLock.acquire(device, process.pid);
  expect(readFileSync(`${device}/LOCK`, 'utf8')).toBe(`${process.pid}\n`);
  lock.release();
});

test('in one process too, until it is released; a stale pid of a living process means nothing', async () => {
  const device = `${tempDir()}/new/device`;
  const lock = await DeviceLock.acquire(device, 123);
  await expect(DeviceLock.acquire(device, 456)).rejects.toThrow('in use by another process (pid 123)');
  lock.release();
  lock.release();
  writeFileSync(`${device}/LOCK`, `${process.ppid}\n`);
  const again = await DeviceLock.acquire(device, 456);
  writeFileSync(`${device}/LOCK`, 'nonsense');
  await expect(DeviceLock.acquire(device, 789)).rejects.toThrow(/in use by another process: stop that one/);
  again.release();
});

test('a device that cannot be made is named', async () => {
  await expect(DeviceLock.acquire('/dev/null/device', 1)).rejects.toThrow('device /dev/null/device: ');
});

test('a full disk is no reason not to take a device: the pid is for the message only', async () => {
  const io = new FaultyFileIo(new MemoryDisk());
  io.capacityBytes = 0;
  const lock = await DeviceLock.acquire('/device', 123, io);
  lock.release();
  io.capacityBytes = Infinity;
  (await DeviceLock.acquire('/device', 123_456, io)).release();
  io.capacityBytes = io.disk.bytes;
  (await DeviceLock.acquire('/device', 12, io)).release();
  expect(Buffer.from(io.disk.read('/device/LOCK')).toString()).toBe('12\n');
  io.faults = ({ name }) => (name === 'pwrite' ? 'EIO' : null);
  await expect(DeviceLock.acquire('/device', 123, io)).rejects.toThrow('device /device: EIO');
  expect(io.openFiles).toBe(0);
});

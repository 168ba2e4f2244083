// A device for qmadmin with a queue space SERVED, and a daemon that serves it, or did. Owns both for one test.
import { expect, onTestFinished } from 'vitest';
import { InProcess } from './in-process.ts';
import { localDevice, reachableDevice, runScript, type Ran } from './qmadmin.ts';

const UBB = `*RESOURCES
MASTER SITE1
MODEL SHM
IPCKEY 52617
*MACHINES
"localhost" LMID=SITE1 APPDIR="."
*GROUPS
QUE1 LMID=SITE1 GRPNO=1 TMSNAME=TMS_QM TMSCOUNT=2 OPENINFO="TUXEDO/QM:dev:SERVED"
*SERVERS
TMQUEUE SRVGRP=QUE1 SRVID=20 CLOPT="-s ALIAS:TMQUEUE"
`;
export interface Place {
  readonly path: string;
  readonly daemon: InProcess;
  readonly run: (...script: string[]) => Promise<Ran>;
}

/** A daemon that serves SERVED, with a queue Q, on a device of 2000 pages, of which 1900 are free. */
export async function withDaemon(nonPersistent = '20000b', messages = 100): Promise<Place> {
  const daemon = new InProcess(UBB);
  onTestFinished(() => daemon.remove());
  const path = `${daemon.dir}/dev`;
  // A small message takes a page.
  const pages = messages;
  const made = await runScript(
    [
      `crdl ${path} 0 ${1900 + pages}`,
      `qspc -n ${nonPersistent} SERVED 230400 ${pages} 5 5 5 ${messages} ERR n 16`,
      'qopen SERVED',
      'qcr Q fifo none 0 0 100% 0 ""',
    ],
    localDevice(path),
  );
  expect(made.err).toEqual([]);
  await daemon.start();
  return { path, daemon, run: (...script) => session(path, script) };
}

export async function session(path: string, script: readonly string[] | string): Promise<Ran> {
  const device = reachableDevice(path);
  try {
    return await runScript(script, device);
  } finally {
    await device.close();
  }
}

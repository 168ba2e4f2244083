// Work that is prepared in a queue space and waits for an outcome that nobody knows, made while no daemon has the space open.
import { SystemClock } from '../../src/boot/system-clock.ts';
import { openSpace } from '../../src/engine/open-space.ts';
import { openLocalLog } from '../../src/wal/local/local-log.ts';
import { QME } from '../../proto/codes.ts';
import { properties } from './queue-values.ts';

const SILENT = { info: (): void => {}, warn: (): void => {}, error: (): void => {} };

/** An enqueue of `put`, as two-phase commit prepares it, under a transaction log that no daemon has. The transaction's id: 5, then `serial`. */
export async function prepareOffline(dir: string, queue: string, serial = 6): Promise<void> {
  const clock = new SystemClock();
  const ports = {
    clock,
    ulog: SILENT,
    soon: (then: () => void) => void setImmediate(then),
    runCommand: () => {},
  };
  const store = await openLocalLog({ dir, clock, ulog: SILENT });
  const engine = await openSpace(store, new AbortController().signal, ports);
  try {
    const work = engine.openWork();
    const request = { qname: queue, properties: properties({}), terms: null, data: Buffer.from('put'), work };
    const codes = [engine.enqueue(request).code, engine.prepared.promise(work)];
    if (codes.some((code) => code !== QME.OK)) throw new Error(`not prepared: ${codes.join(', ')}`);
    engine.prepared.prepare(work, { transaction: { start: 5, serial }, tlog: 'ab'.repeat(16) });
  } finally {
    await engine.close();
  }
}

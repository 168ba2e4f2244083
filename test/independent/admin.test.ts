// ADMIN as PROTOCOL.md 6.2 has it, by the client that was written from the page alone: named members are plain maps here.
import { expect, it } from 'vitest';
import type { Client } from './client.ts';
import { Peer } from './daemon.ts';
import { OP, QME, TPE, TYPE, VERB } from './numbers.ts';

const peer = Peer.forAll({ queues: ['A', 'Z'], forwarders: ['-q Z'] });

function ask(client: Client, verb: number, qname: string, members: object = {}): Promise<readonly unknown[]> {
  return client.ask(OP.ADMIN, verb, 'QSPACE', qname, members);
}

const refusal = (diagnostic: number): object => ({ tperrno: TPE.DIAGNOSTIC, diagnostic });

it('a queue is made, looked at, listed, changed, paused, purged and taken away', async () => {
  const client = await peer.join();
  const attributes = { order: 'priority', retries: 3, dequeuePaused: false };
  const [made, none] = await ask(client, VERB.QCREATE, 'M', attributes);
  expect(made).toMatchObject({ name: 'M', order: 'priority,fifo', retries: 3, expiryS: -1, messages: 0 });
  expect(none).toEqual([]);
  await expect(ask(client, VERB.QCREATE, 'M')).rejects.toMatchObject({ tperrno: TPE.MATCH });
  await expect(ask(client, VERB.QCREATE, 'N', { order: 'odd' })).rejects.toMatchObject(refusal(QME.INVAL));
  await client.ask(OP.ENQUEUE, ['QSPACE', 'M'], null, 0, 0, TYPE.STRING, '', Buffer.from('x'));
  expect(await ask(client, VERB.QINFO, 'M')).toMatchObject([{ ready: 1, enqueued: 1, pages: 1 }, []]);
  const first = await ask(client, VERB.QLIST, '', { limit: 2 });
  expect(first).toMatchObject([{ more: true }, [{ name: 'A' }, { name: 'M' }]]);
  expect(await ask(client, VERB.QLIST, '', { after: 'M' })).toMatchObject([{ more: false }, [{ name: 'Z' }]]);
  expect(await ask(client, VERB.QCHANGE, 'M', { delayS: 70_000 })).toMatchObject([
    { delayS: 70_000, retries: 3 },
    [],
  ]);
  expect(await ask(client, VERB.QPAUSE, 'M', { dequeue: true })).toMatchObject([{ dequeuePaused: true }, []]);
  const taking = client.ask(OP.DEQUEUE, ['QSPACE', 'M'], null, 0, 0, TYPE.NONE, '', 0);
  await expect(taking).rejects.toMatchObject(refusal(QME.SHARE));
  expect(await ask(client, VERB.QRESUME, 'M')).toMatchObject([
    { dequeuePaused: false, enqueuePaused: false },
    [],
  ]);
  await expect(ask(client, VERB.QDESTROY, 'M')).rejects.toMatchObject(refusal(QME.INUSE));
  expect(await ask(client, VERB.QPURGE, 'M')).toEqual([{ count: 1 }, []]);
  expect(await ask(client, VERB.QDESTROY, 'M', { purge: true })).toEqual([{ count: 0 }, []]);
  await expect(ask(client, VERB.QINFO, 'M')).rejects.toMatchObject(refusal(QME.BADQUEUE));
  expect(await ask(client, VERB.QSPACEINFO, '')).toMatchObject([
    { name: 'QSPACE', curQueues: 2, curMessages: 0 },
    [],
  ]);
});

it('a forwarder is stopped and started by its id; what is none is refused', async () => {
  const client = await peer.join();
  const control = (verb: number, members: object): Promise<readonly unknown[]> =>
    client.ask(OP.ADMIN, verb, '', '', members);
  const server = { name: 'TMQFORWARD', group: 'QUE1', srvid: 100 };
  expect(await control(VERB.SRVSTOP, { srvid: 100 })).toEqual([{ ...server, state: 'stopped' }, []]);
  expect(await control(VERB.SRVSTOP, { srvid: 100, group: 'QUE1' })).toMatchObject([{ state: 'down' }, []]);
  expect(await control(VERB.SRVSTART, { srvid: 100 })).toEqual([{ ...server, state: 'started' }, []]);
  expect(await control(VERB.SRVSTART, { srvid: 100 })).toMatchObject([{ state: 'running' }, []]);
  await expect(control(VERB.SRVSTART, { srvid: 99 })).rejects.toMatchObject({ tperrno: TPE.NOENT });
  await expect(control(VERB.SRVSTART, { srvid: 20 })).rejects.toMatchObject({ tperrno: TPE.PROTO });
  await expect(control(VERB.SRVSTOP, { srvid: 0 })).rejects.toMatchObject(refusal(QME.INVAL));
  const [told, lines] = (await control(VERB.SRVLIST, {})) as [object, object[]];
  expect(told).toEqual({ lmid: 'SITE1', more: false });
  const line = { ...server, min: 1, max: 1, kind: 'tmqforward', running: ['100'], why: '' };
  expect(lines).toContainEqual(line);
  expect(lines).toContainEqual(expect.objectContaining({ kind: 'tmqueue', running: [], srvid: 20 }));
  const [, rest] = await control(VERB.SRVLIST, { skip: lines.length - 1 });
  expect(rest).toEqual(lines.slice(-1));
  // It was started from a file, which has not changed.
  expect(await control(VERB.RELOAD, {})).toEqual([{ outcome: 'unchanged', unlisted: 0 }, []]);
  const [refused, faults] = await control(VERB.RELOAD, { file: '/elsewhere/ubbconfig' });
  expect(refused).toEqual({ outcome: 'refused', unlisted: 0 });
  expect(faults).toMatchObject([{ kind: 'fault', file: '/elsewhere/ubbconfig', line: 0, column: 0 }]);
  await expect(control(VERB.SRVLIST, { srvid: 100 })).rejects.toMatchObject(refusal(QME.INVAL));
});

// Which requests overtake one of the same client that waits for room in the log [PROTOCOL 7, Order]: the end of a call does, unless what waits may be
// part of the same transaction.
import { expect, it } from 'vitest';
import { JOINED_TX, OP, RVAL } from '../../proto/codes.ts';
import type { Request } from '../../proto/message.ts';
import { Client } from '../../src/atmi/client.ts';
import { Transaction } from '../../src/atmi/transactions.ts';
import { RequestDispatcher } from '../../src/net/dispatch.ts';

const identity = { cltid: new Uint8Array(16), usrname: '', cltname: '', grpname: '', appkey: -1 };
const body = { type: '', subtype: '', data: null };

it.each<[string, Request, boolean]>([
  [
    'RETURN of a call outside transactions',
    { op: OP.RETURN, id: 7, rval: RVAL.TPSUCCESS, rcode: 0, body },
    true,
  ],
  ['FORWARD of one', { op: OP.FORWARD, id: 7, service: 'S', body }, true],
  [
    'RETURN of a call in a transaction',
    { op: OP.RETURN, id: 8, rval: RVAL.TPSUCCESS, rcode: 0, body },
    false,
  ],
  ['FORWARD of one', { op: OP.FORWARD, id: 8, service: 'S', body }, false],
  ['CANCEL', { op: OP.CANCEL, id: 9, target: 1 }, true],
  ['COMMIT', { op: OP.COMMIT, id: 10, tx: 1 }, false],
])('%s', (_name, request, overtakes) => {
  const client = new Client(identity, { send: () => {} });
  client.joined.set(8 + JOINED_TX, {
    transaction: new Transaction({ start: 1, serial: 1 }, 1, null),
    isSuspended: false,
  });
  const seen: string[] = [];
  const note = (name: string) => (): void => void seen.push(name);
  const atmi = { returned: note('x'), forward: note('x'), cancel: note('x'), commit: note('x') };
  const dispatcher = new RequestDispatcher({ atmi } as never, {} as never, {
    product: 'test',
    prefix: new Uint8Array(8),
  });
  client.block();
  dispatcher.handle(client, request);
  const before = seen.length;
  client.unblock();
  expect([before, seen.length]).toEqual([overtakes ? 1 : 0, 1]);
});

// Builds with one known fault: what the simulation must find out, or it finds nothing. A fault is switched in for the length of a run, on the
// prototypes of the real classes or in the disk, and nowhere in the sources. Where a fault reaches into a class that has changed meanwhile,
// it is not found any more and its test says so.
import { RVAL } from '../../proto/codes.ts';
import { Dequeues } from '../../src/engine/dequeues.ts';
import { Enqueues } from '../../src/engine/enqueues.ts';
import { SpaceEngine } from '../../src/engine/space-engine.ts';
import { Connection } from '../../src/net/connection.ts';
import { MessageTable } from '../../src/queue/tables.ts';
import { Forwarder } from '../../src/tmqforward/forwarder.ts';
import { NONE } from '../../src/base/column.ts';
import type { Deceit } from './disk.ts';

export interface KnownFault {
  readonly deceit: Deceit;
  /** Makes the build faulty; returns how to mend it. */
  readonly switchIn: () => () => void;
}

type Method = (this: never, ...args: never[]) => unknown;

/** Puts another method in place of one; `original` calls the one that was there. */
function replace<T extends object>(
  prototype: T,
  name: string,
  make: (original: (self: T, ...args: unknown[]) => unknown) => (self: T, ...args: unknown[]) => unknown,
): () => void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
  const method: unknown = descriptor?.value;
  if (descriptor === undefined || typeof method !== 'function')
    throw new Error(`there is no method ${name} any more`);
  const faulty = make((self, ...args) => Reflect.apply(method as Method, self, args) as unknown);
  Object.defineProperty(prototype, name, {
    ...descriptor,
    value(this: T, ...args: unknown[]) {
      return faulty(this, ...args);
    },
  });
  return () => Object.defineProperty(prototype, name, descriptor);
}

function ofDisk(deceit: Deceit): KnownFault {
  return { deceit, switchIn: () => () => {} };
}

function ofCode(switchIn: () => () => void): KnownFault {
  return { deceit: 'none', switchIn };
}

interface Holdable {
  released(): void;
}
interface WorkLike {
  messages: number;
  readonly branch: { readonly locks: number };
}
interface ForwardLike {
  readonly transaction: { readonly work: unknown };
}

/** A number that says true once in so many calls. */
function everyNth(n: number): () => boolean {
  let count = 0;
  return () => ++count % n === 0;
}

export const KNOWN_FAULTS: Readonly<Record<string, KnownFault>> = {
  'sync does nothing': ofDisk('sync does nothing'),
  'sync is answered before it is done': ofDisk('sync comes later'),
  'answers are not held back': ofCode(() =>
    replace(SpaceEngine.prototype, 'hold', () => (_engine, _batch, held) => (held as Holdable).released()),
  ),
  'answers wait for the batch before theirs': ofCode(() =>
    replace(
      SpaceEngine.prototype,
      'hold',
      (original) => (engine, batch, held) => original(engine, (batch as number) - 1, held),
    ),
  ),
  'a rollback is lost': ofCode(() => replace(SpaceEngine.prototype, 'rollback', () => () => 0)),
  'a rollback commits': ofCode(() =>
    replace(
      SpaceEngine.prototype,
      'rollback',
      () => (engine, work) => engine.commit(work as Parameters<SpaceEngine['commit']>[0]),
    ),
  ),
  'a commit forgets one of its enqueues': ofCode(() =>
    replace(Enqueues.prototype, 'commit', (original) => {
      const forgets = everyNth(5);
      return (enqueues, work) => (forgets() ? undefined : original(enqueues, work));
    }),
  ),
  'a commit is two batches': ofCode(() =>
    replace(SpaceEngine.prototype, 'commit', (original) => (engine, given, transaction) => {
      const work = given as WorkLike & Parameters<Enqueues['commit']>[0];
      if (work.messages === 0 || work.branch.locks === 0) return original(engine, work, transaction);
      const enqueues: unknown = Reflect.get(engine, 'enqueues');
      (enqueues as Enqueues).commit(work);
      const { batch } = engine.journal;
      work.messages = 0;
      void engine.delay(20).then(() => original(engine, work));
      return batch;
    }),
  ),
  'a forwarder commits before it queues the reply': ofCode(() =>
    replace(Forwarder.prototype, 'succeed', () => (forwarder, given, answer) => {
      const call = given as ForwardLike & {
        readonly message: { readonly properties: { readonly replyqueue: string } };
      };
      const { engine } = Reflect.get(forwarder, 'ports') as { engine: SpaceEngine };
      const work = engine.openWork();
      const store = Reflect.get(forwarder, 'store') as Method;
      const commit = Reflect.get(forwarder, 'commit') as Method;
      const result: unknown = Reflect.apply(commit, forwarder, [call]);
      void engine.delay(20).then(() => {
        Reflect.apply(store, forwarder, [call.message.properties.replyqueue, { call, answer, work }]);
        engine.commit(work);
      });
      return result;
    }),
  ),
  'a forwarder takes a failure for success': ofCode(() =>
    replace(
      Forwarder.prototype,
      'answered',
      (original) => (forwarder, call, answer) =>
        original(forwarder, call, { ...(answer as object), rval: RVAL.TPSUCCESS }),
    ),
  ),
  'a lock is not kept': ofCode(() =>
    replace(SpaceEngine.prototype, 'run', (original) => {
      const fails = everyNth(6);
      return (engine, given) => {
        const command = given as { kind: string; entry: number };
        const result = original(engine, command);
        if (command.kind === 'take' && fails()) original(engine, { kind: 'unhold', entry: command.entry });
        return result;
      };
    }),
  ),
  'the first to come is not the first to go': ofCode(() =>
    replace(MessageTable.prototype, 'before', (original) => (table, a, b) => original(table, b, a)),
  ),
  'an answer is forgotten': ofCode(() =>
    replace(Connection.prototype, 'send', (original) => {
      const forgets = everyNth(100);
      return (connection, reply) => (forgets() ? undefined : original(connection, reply));
    }),
  ),
  'a waiting dequeue forgets its time': ofCode(() =>
    replace(Dequeues.prototype, 'park', (original) => (dequeues, request, queue) => {
      Object.defineProperty(request, 'deadlineMs', { value: Infinity });
      return original(dequeues, request, queue);
    }),
  ),
  'an attempt is not counted': ofCode(() =>
    replace(SpaceEngine.prototype, 'rollback', (original) => (engine, given, failure) => {
      const work = given as WorkLike & { branch: { first: number } };
      for (let entry = work.branch.first; entry !== NONE; entry = work.branch.first) {
        engine.run({ kind: 'unhold', entry });
      }
      return original(engine, work, failure);
    }),
  ),
};

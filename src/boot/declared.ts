// What the configuration says of a queue space and its queues, brought into an open one: at a start, and when the configuration is read again.
// Nothing is ever destroyed here: a queue that vanished from the file stays, and is told of. A change that a queue cannot take is a fault, with
// its place in the file, found before anything is changed.
import type { Ulog } from '../base/ulog.ts';
import { QME, qmeName } from '../../proto/codes.ts';
import type { SpaceEngine } from '../engine/space-engine.ts';
import type { DefineQueueCommand, DefineSpaceCommand } from '../queue/command.ts';
import { QUEUE_DEFAULTS, type QueueAttributes, type SpaceAttributes } from '../queue/attributes.ts';
import { definitionBytesOf } from '../queue/space.ts';
import { formatFault, type Fault } from '../ubb/fault.ts';
import type { QueuePlan, SpacePlan } from '../ubb/plan.ts';

/** One thing to create or change. */
export interface Definition {
  readonly command: DefineQueueCommand | DefineSpaceCommand;
  /** e.g. `queue STRING`. */
  readonly what: string;
  /** `created`, or `changed: …`; '' when it is so already. */
  readonly said: string;
}

/** Kept for the space's own attributes in what a segment of the log begins with. */
const SPACE_DEFINITION_BYTES = 1024;

/** At a start: creates and changes what the plan says, logs what changed and what is strange, and waits until it is on disk. */
export async function declare(
  plan: SpacePlan,
  engine: SpaceEngine,
  { isNew, ulog }: { readonly isNew: boolean; readonly ulog: Ulog },
): Promise<void> {
  if (!plan.declared) return;
  const faults = fixedFaults(plan, engine);
  if (faults.length > 0) throw new Error(faults.map(formatFault).join('\n'));
  const fields = { space: plan.name };
  let batch = 0;
  for (const { command, what, said } of definitionsOf(plan, engine, { isNew })) {
    batch = Math.max(batch, await define(engine, command, what));
    if (said.startsWith('changed')) ulog.info(`${what} ${said}`, fields);
  }
  for (const { text, messages } of strangeIn(plan, engine)) {
    ulog.warn(text, messages === null ? fields : { ...fields, messages });
  }
  await durable(engine, batch);
}

/** What the plan says of the space and each of its queues, in the order of the file. */
export function definitionsOf(
  plan: SpacePlan,
  engine: SpaceEngine,
  { isNew }: { readonly isNew: boolean },
): Definition[] {
  const before = engine.space.attributes;
  const attributes = spaceAttributesOf(plan, before);
  const changes = isNew ? '' : differences(before, attributes);
  const definitions: Definition[] = [
    {
      command: { kind: 'defineSpace', attributes },
      what: `queue space ${plan.name}`,
      said: changedText(changes),
    },
  ];
  for (const queue of plan.queues) {
    const known = engine.space.queue(queue.name)?.attributes;
    const wanted = attributesOf(queue, known ?? QUEUE_DEFAULTS);
    definitions.push({
      command: { kind: 'defineQueue', attributes: wanted },
      what: `queue ${queue.name}`,
      said: known === undefined ? 'created' : changedText(differences(known, wanted)),
    });
  }
  return definitions;
}

/** Every change that a queue cannot take. */
export function fixedFaults({ file, queues }: SpacePlan, engine: SpaceEngine): Fault[] {
  const faults: Fault[] = [];
  for (const { name, order, line, column } of queues) {
    const known = engine.space.queue(name)?.attributes.order;
    if (known === undefined || known === order) continue;
    const what = `ORDER is fixed when a queue is created: it is ${known}, the configuration says ${order}`;
    const message = `queue ${name}: ${what}; legal: ORDER="${known}", or a queue of another name`;
    faults.push({ file, line, column, word: order, message });
  }
  return faults;
}

/** What the space has no place for: more queues than it may have, or than fit where a segment of the log begins. */
export function placeFaults(plan: SpacePlan, engine: SpaceEngine): Fault[] {
  const { file, name, line, limits } = plan;
  const { space } = engine;
  const created = plan.queues.filter((queue) => space.queue(queue.name) === undefined);
  const fault = (at: { line: number; column: number }, word: string, message: string): Fault => ({
    file,
    ...at,
    word,
    message,
  });
  const count = space.queueCount + created.length;
  const [first] = created;
  if (first !== undefined && limits.queues !== 0 && count > limits.queues) {
    const message =
      `queue ${first.name}: queue space ${name} would have ${count} queues, with those that are no longer in the file, and may have ` +
      `${limits.queues} (QUEUES); legal: QUEUES=${count}, or fewer queues`;
    return [fault(first, first.name, message)];
  }
  let bytes = space.definitionBytes;
  for (const queue of plan.queues) {
    const known = space.queue(queue.name)?.attributes;
    bytes +=
      definitionBytesOf(attributesOf(queue, known ?? QUEUE_DEFAULTS)) -
      (known ? definitionBytesOf(known) : 0);
  }
  const most = engine.store.describe().maxPreambleBytes - SPACE_DEFINITION_BYTES;
  if (bytes <= space.definitionBytes || bytes <= most) return [];
  const message = `queue space ${name}: the definitions of its queues take ${bytes} bytes of the log; legal: at most ${most}`;
  return [fault({ line, column: 1 }, name, message)];
}

/** What an administrator should know, and no fault. */
export function strangeIn(plan: SpacePlan, engine: SpaceEngine): { text: string; messages: number | null }[] {
  const found: { text: string; messages: number | null }[] = [];
  const named = new Set(plan.queues.map(({ name }) => name));
  for (const { attributes, messages } of engine.space.queues()) {
    if (named.has(attributes.name)) continue;
    const text = `queue ${attributes.name} is no longer in the configuration; it stays, with its messages`;
    found.push({ text, messages });
  }
  if (plan.errorQueue !== '' && engine.space.queue(plan.errorQueue) === undefined) {
    const text = `error queue ${plan.errorQueue} does not exist: messages whose retries are used up will be dropped`;
    found.push({ text, messages: null });
  }
  return found;
}

function changedText(changes: string): string {
  return changes === '' ? '' : `changed: ${changes}`;
}

/** What the file does not say stays as it was made. */
function spaceAttributesOf({ name, errorQueue, limits }: SpacePlan, known: SpaceAttributes): SpaceAttributes {
  return { ...known, name, errorQueue, ...limits };
}

function attributesOf(queue: QueuePlan, known: QueueAttributes): QueueAttributes {
  return {
    ...known,
    name: queue.name,
    order: queue.order,
    outOfOrder: queue.outOfOrder,
    retries: queue.retries,
    delayS: queue.delayS,
    policy: queue.policy,
    expiryS: queue.expiryS ?? -1,
    high: queue.high,
    low: queue.low,
    cmd: queue.command,
    nonPersistentHigh: queue.nonPersistentHigh,
    nonPersistentLow: queue.nonPersistentLow,
    nonPersistentCmd: queue.nonPersistentCommand,
  };
}

/** e.g. `retries 2 → 3`; '' when nothing is different. */
export function differences<T extends object>(before: T, after: T): string {
  const names = Object.keys(after) as (keyof T & string)[];
  const changed = names.filter((name) => before[name] !== after[name]);
  return changed.map((name) => `${name} ${shownValue(before[name])} → ${shownValue(after[name])}`).join(', ');
}

function shownValue(value: unknown): string {
  return value === '' ? 'none' : String(value);
}

/** Creates or changes something as soon as the log has room for saying so; returns the batch to wait for. */
async function define(
  engine: SpaceEngine,
  command: DefineQueueCommand | DefineSpaceCommand,
  what: string,
): Promise<number> {
  for (;;) {
    const { code, later, batch } = engine.define(command);
    if (code === QME.OK) return batch;
    const { failure } = engine.journal;
    if (failure !== null) throw failedWhileConfigured(failure);
    if (!later) throw new Error(`${what} could not be created: ${qmeName(code)}`);
    await new Promise<void>((resolve) => {
      engine.whenRoom(resolve);
    });
  }
}

/** Resolves when the batch is on disk. */
export function durable(engine: SpaceEngine, batch: number): Promise<void> {
  return new Promise((resolve, reject) => {
    engine.hold(batch, {
      released: resolve,
      failed: () => reject(failedWhileConfigured(engine.journal.failure)),
    });
  });
}

function failedWhileConfigured(error: Error | null): Error {
  return new Error(`the log failed while the configuration was written: ${error?.message ?? ''}`, {
    cause: error,
  });
}

// A running daemon reads its configuration again [DESIGN 11]. First everything is checked: the file, what cannot change while the daemon runs, what
// a queue or a queue space cannot take, room in the logs; then queues, services and forwarders become what the file says. Invariants: whatever
// is refused, nothing has changed; the definitions of all spaces are changed in one turn of the loop, so that no request sees half of them; a
// forwarder's message under way is done before its line changes. A crash in between leaves definitions that the next start completes.
import type { ReloadItem } from '../../proto/admin.ts';
import { QME } from '../../proto/codes.ts';
import type { ReloadResult } from '../admin/reload.ts';
import type { Services } from '../atmi/services.ts';
import type { Ulog } from '../base/ulog.ts';
import type { SpaceEngine } from '../engine/space-engine.ts';
import type { Fault } from '../ubb/fault.ts';
import type { ForwarderPlan, HostPlan, SpacePlan } from '../ubb/plan.ts';
import type { Loaded } from './configuration.ts';
import { type Definition, definitionsOf, durable, fixedFaults, placeFaults, strangeIn } from './declared.ts';
import type { Forwarders } from './forwarders.ts';
import { type Change, compare } from './plan-changes.ts';

export interface ReloadPorts {
  /** null: the daemon was started without a file. */
  readonly load: ((file: string | null) => Loaded) | null;
  /** What is in force; `adopt` says that the other one is now. */
  readonly plan: () => HostPlan;
  readonly adopt: (plan: HostPlan) => void;
  /** Those that are open, by the names of their groups. */
  readonly engines: ReadonlyMap<string, SpaceEngine>;
  readonly services: Services;
  readonly forwarders: Forwarders;
  readonly ulog: Ulog;
}

interface Declared {
  readonly plan: SpacePlan;
  readonly engine: SpaceEngine;
}

/** Room for a definition beside its text, in bytes: reserved for an instant, so generously. */
const OVERHEAD_BYTES = 512;

export async function reload(ports: ReloadPorts, file: string | null): Promise<ReloadResult> {
  const { ulog } = ports;
  if (ports.load === null)
    return refused(ulog, [wholeFile(file ?? '', 'the daemon was started without a file')]);
  const loaded = ports.load(file);
  if (!loaded.ok) return refused(ulog, loaded.faults);
  const { plan } = loaded;
  const before = ports.plan();
  const change = compare(before, plan, loaded.domain);
  const declared = plan.spaces.flatMap((space) => {
    const engine = ports.engines.get(space.group);
    return space.declared && engine !== undefined ? [{ plan: space, engine }] : [];
  });
  // Spaces that are no longer, or newly, in the file have been refused: the others can be looked at.
  const faults = [...change.faults, ...declared.flatMap(faultsOf)];
  if (faults.length > 0) return refused(ulog, faults);
  const room = await untilFree(declared);
  if (room.length > 0) return refused(ulog, room);
  // While that was waited for, an administrator may have made or changed queues.
  const late = declared.flatMap(faultsOf);
  if (late.length > 0) return refused(ulog, late);
  const items = [...(await redefine(declared)), ...takeOver(ports, plan, change)];
  ports.adopt(plan);
  items.push(...(await changeForwarders(ports, change)));
  for (const { kind, text } of items) {
    if (kind === 'note') ulog.warn(text);
    else ulog.info(text);
  }
  const isChanged = items.some(({ kind }) => kind === 'changed');
  return { outcome: isChanged ? 'applied' : 'unchanged', items };
}

function faultsOf({ plan, engine }: Declared): Fault[] {
  return [...fixedFaults(plan, engine), ...placeFaults(plan, engine)];
}

/**
 * Resolves when no queue is in the middle of a large commit or rollback and each log has room for all that is to be said: from then to the end of
 * the turn nothing can go wrong. Faults: a log is full, or failed.
 */
async function untilFree(declared: readonly Declared[]): Promise<Fault[]> {
  for (;;) {
    const busy = declared.find(({ engine }) => engine.endings.isBusy);
    if (busy !== undefined) {
      await new Promise<void>((resolve) => {
        busy.engine.endings.whenFree(null, resolve);
      });
      continue;
    }
    const full = declared.find((space) => !hasRoom(space));
    if (full === undefined) return [];
    const { engine, plan } = full;
    if (engine.journal.failure !== null || engine.journal.roomComing() === null) {
      const why = engine.journal.failure === null ? 'has no room for the change: the disk is full' : 'failed';
      return [wholeFile(plan.file, `the log of queue space ${plan.name} ${why}; nothing has changed`)];
    }
    await new Promise<void>((resolve) => {
      engine.whenRoom(resolve);
    });
  }
}

function hasRoom({ plan, engine }: Declared): boolean {
  const definitions = definitionsOf(plan, engine, { isNew: false }).filter(({ said }) => said !== '');
  const bytes = definitions.reduce(
    (sum, { command }) => sum + Buffer.byteLength(JSON.stringify(command)) + OVERHEAD_BYTES,
    0,
  );
  if (bytes === 0) return true;
  if (!engine.journal.reserve(bytes)) return false;
  engine.journal.release(bytes);
  return true;
}

/** All in one turn; resolves when it is on disk. */
async function redefine(declared: readonly Declared[]): Promise<ReloadItem[]> {
  const items: ReloadItem[] = [];
  const waits: Promise<void>[] = [];
  for (const { plan, engine } of declared) {
    let last = 0;
    for (const definition of definitionsOf(plan, engine, { isNew: false })) {
      if (definition.said === '') continue;
      last = Math.max(last, apply(engine, definition));
      const place = definition.command.kind === 'defineQueue' ? ` of ${plan.name}` : '';
      items.push(told('changed', `${definition.what}${place} ${definition.said}`));
    }
    waits.push(durable(engine, last));
    for (const { text } of strangeIn(plan, engine)) items.push(told('note', `${plan.name}: ${text}`));
  }
  await Promise.all(waits);
  return items;
}

function apply(engine: SpaceEngine, { command, what }: Definition): number {
  const { code, batch } = engine.define(command);
  if (code === QME.OK) return batch;
  throw new Error(
    `${what} could not be changed although it had been looked at: code ${code}; see the daemon's log`,
  );
}

/** Services and what is only told of. */
function takeOver({ services }: ReloadPorts, plan: HostPlan, change: Change): ReloadItem[] {
  if (change.services.length > 0) services.replaceRules(plan.services);
  return [
    ...change.services.map((name) => told('changed', `service ${name}: its line in *SERVICES`)),
    ...change.others.map((text) => told('changed', text)),
    ...change.notes.map((text) => told('note', text)),
  ];
}

async function changeForwarders({ forwarders, engines }: ReloadPorts, change: Change): Promise<ReloadItem[]> {
  const { added, changed, removed } = change.forwarders;
  const open = (plan: ForwarderPlan): SpaceEngine | undefined => engines.get(plan.group);
  const items: ReloadItem[] = [];
  await Promise.all([
    ...removed.map((plan) => forwarders.end(plan)),
    ...changed.map(async ({ plan }) => {
      const engine = open(plan);
      if (engine !== undefined) await forwarders.renew(plan, engine);
    }),
  ]);
  for (const plan of added) {
    const engine = open(plan);
    if (engine !== undefined) forwarders.begin(plan, engine);
  }
  for (const plan of removed)
    items.push(told('changed', `${nameOf(plan)} stopped: it is no longer in the file`));
  for (const { plan, said } of changed) items.push(told('changed', `${nameOf(plan)} restarted: ${said}`));
  for (const plan of added) items.push(told('changed', `${nameOf(plan)} started: it is new in the file`));
  for (const plan of [...changed.map((one) => one.plan), ...added]) {
    if (open(plan) === undefined)
      items.push(told('note', `${nameOf(plan)} cannot run: its queue space is not open`));
  }
  return items;
}

function nameOf({ group, srvid }: ForwarderPlan): string {
  return `TMQFORWARD ${group}/${srvid}`;
}

function refused(ulog: Ulog, faults: readonly Fault[]): ReloadResult {
  const items = faults.map(({ file, line, column, message }): ReloadItem => ({
    kind: 'fault',
    text: message,
    file,
    line,
    column,
  }));
  ulog.warn(`the configuration was read again and refused: nothing has changed; ${faults.length} faults`);
  return { outcome: 'refused', items };
}

function told(kind: ReloadItem['kind'], text: string): ReloadItem {
  return { kind, text, file: '', line: 0, column: 0 };
}

function wholeFile(file: string, message: string): Fault {
  return { file, line: 0, column: 0, word: file, message };
}

// The servers of this machine's configuration, as an administrator starts and stops them: the forwarders run here, the others say where they do.
import { QME, TPERRNO } from '../../proto/codes.ts';
import type { KnownServer } from '../admin/servers.ts';
import type { HostPlan, ServerPlan } from '../ubb/plan.ts';
import { placeOf, type PlacedForwarder } from './forwarders.ts';

const ELSEWHERE: Readonly<Record<Exclude<ServerPlan['kind'], 'tmqforward'>, string>> = {
  tmqueue: 'runs as long as the daemon does; a queue is closed by pausing it',
  wsl: 'is the listener of the daemon, and runs as long as the daemon does',
  system: 'has nothing to do here: what it does for Tuxedo is part of the daemon, or not needed',
  application: 'is an application server: a process of its own, which the daemon neither starts nor stops',
};

export function knownServers(plan: HostPlan, forwarders: readonly PlacedForwarder[]): KnownServer[] {
  const byPlace = new Map(forwarders.map((one) => [placeOf(one), one]));
  return plan.servers.map(({ name, kind, group, srvid, min, max }) => {
    const known = { name, kind, group, srvid, min, max };
    if (kind !== 'tmqforward') {
      return { ...known, control: { failure: TPERRNO.TPEPROTO, why: ELSEWHERE[kind] } };
    }
    const placed = byPlace.get(placeOf({ group, srvid }));
    if (placed === undefined) {
      return {
        ...known,
        control: { failure: QME.QMENOTOPEN, why: 'cannot run: its queue space is not open' },
      };
    }
    const { forwarder } = placed;
    return {
      ...known,
      control: {
        start: (id) => forwarder.startOne(id),
        stop: (id, onStopped) => forwarder.stopOne(id, onStopped),
        running: () => forwarder.running(),
      },
    };
  });
}

// What the UBBCONFIG tests share: a small valid file whose sections can be replaced, and short ways to its faults, model and plan.

import { parseDomain } from '../../src/ubb/domain.ts';
import { formatFault } from '../../src/ubb/fault.ts';
import type { Domain } from '../../src/ubb/model.ts';
import { type HostPlan, planHost } from '../../src/ubb/plan.ts';

export interface Sections {
  readonly resources?: string;
  readonly machines?: string;
  readonly groups?: string;
  readonly servers?: string;
  readonly services?: string;
  readonly rest?: string;
}

const RESOURCES = '*RESOURCES\nIPCKEY 40000\nMASTER M1\nMODEL SHM\n';
const MACHINES = '*MACHINES\n"node" LMID=M1 APPDIR="app"\n';
const GROUPS =
  '*GROUPS\nQG LMID=M1 GRPNO=1 TMSNAME=TMS_QM OPENINFO="TUXEDO/QM:dev:SPACE"\nAG LMID=M1 GRPNO=2\n';
const SERVERS = '*SERVERS\nTMQUEUE SRVGRP=QG SRVID=1 CLOPT="-s SPACE:TMQUEUE --"\n';

/** The sections before *SERVERS take 9 lines when none is replaced: *SERVERS is line 10, its first entry line 11. */
export function ubb(sections: Sections = {}): string {
  const { resources = RESOURCES, machines = MACHINES, groups = GROUPS, servers = SERVERS } = sections;
  return resources + machines + groups + servers + (sections.services ?? '') + (sections.rest ?? '');
}

/** A file with one more section after GROUPS and SERVERS; its header is line 12, its first entry line 13. */
export function ubbWith(rest: string): string {
  return ubb({ rest });
}

export function domainOf(text: string | Uint8Array): Domain {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  return parseDomain({ file: 'f', directory: '/conf', bytes });
}

export function faultsOf(text: string | Uint8Array): string[] {
  return domainOf(text).faults.map(formatFault);
}

/** The plan of a file that must be without faults. */
export function planOf(text: string, hostname = 'elsewhere'): HostPlan {
  const domain = domainOf(text);
  if (domain.faults.length > 0) throw new Error(domain.faults.map(formatFault).join('\n'));
  const result = planHost(domain, { hostname });
  if (!result.ok) throw new Error(formatFault(result.fault));
  return result.plan;
}

/** A small generator of numbers that a seed replays [mulberry32]. */
export function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

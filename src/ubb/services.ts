// SERVICES and ROUTING to their part of the model [spec 6.5]. Routing is checked for existence only; it is not yet in effect.

import { LIMIT } from '../../proto/codes.ts';
import { type Checker, EntryView } from './checker.ts';
import { shown } from './fault.ts';
import type { Group, Service } from './model.ts';
import type { Entry, Section } from './parser.ts';
import { byteLength } from './values.ts';

const BUFFER_TYPES_MAX = 32;

/** What a service's checks refer to. */
export interface ServiceContext {
  readonly groups: readonly Group[];
  readonly routing: Section | undefined;
}

export function buildServices(
  checker: Checker,
  section: Section | undefined,
  context: ServiceContext,
): Service[] {
  const groups = new Set(context.groups.map((group) => group.name));
  const criteria = new Set(context.routing?.entries.map((entry) => entry.name.text));
  const seen = new Map<string, Service>();
  const services = (section?.entries ?? []).map((entry) => buildService(checker, entry));
  for (const service of services) {
    const { name, group, routing } = service;
    const view = new EntryView(checker, 'SERVICES', service.entry);
    if (group !== undefined && !groups.has(group)) {
      checker.missing(
        view.spot('SRVGRP'),
        group,
        `SRVGRP: group ${shown(group)} does not exist; legal: a group of *GROUPS`,
      );
    }
    if (routing !== '' && !criteria.has(routing)) {
      const message = `ROUTING: criterion ${shown(routing)} does not exist; legal: an entry of *ROUTING`;
      checker.missing(view.spot('ROUTING'), routing, message);
    }
    warnOfLoss(checker, service);
    const first = seen.get(`${name}\n${group ?? ''}`);
    if (first === undefined) seen.set(`${name}\n${group ?? ''}`, service);
    else {
      const message = `service ${shown(name)} stands twice, first on line ${first.line}; the first counts`;
      checker.warn({ at: service, word: name, group: undefined }, message);
    }
  }
  return services;
}

/** What is not yet in effect and changes what a service does: said at every start, not only by `check -v`. */
function warnOfLoss(checker: Checker, { entry, group, routing }: Service): void {
  if (routing === '') return;
  const at = new EntryView(checker, 'SERVICES', entry).spot('ROUTING');
  const message = 'ROUTING is not yet in effect: a request goes to any server that offers the service';
  checker.warn({ at, word: routing, group }, message);
}

/** `ALL`, or types separated by `;`, each with subtypes after a colon: at most 32 combinations [spec 6.5]. */
function checkBufferTypes(view: EntryView): void {
  const text = view.text('BUFTYPE').replace(/;\s*$/, '');
  if (!view.given('BUFTYPE') || view.isMacro('BUFTYPE')) return;
  const names = text.split(';').flatMap((type) => type.split(':').slice(-1).join().split(','));
  const isEmpty = /(^|[;:,])\s*([;:,]|$)/.test(text) && text !== '';
  const twice = text.split(';').some((type) => type.split(':').length > 2);
  if (!isEmpty && !twice && names.length <= BUFFER_TYPES_MAX) return;
  const legal = `ALL, or TYPE[:SUBTYPE[,SUBTYPE...]][;TYPE...] with at most ${BUFFER_TYPES_MAX} combinations`;
  view.checker.fault(view.spot('BUFTYPE'), text, `BUFTYPE: ${shown(text)} is not legal; legal: ${legal}`);
}

function buildService(checker: Checker, entry: Entry): Service {
  const view = new EntryView(checker, 'SERVICES', entry);
  const { text, line, column } = entry.name;
  const bytes = byteLength(text);
  if (bytes < 1 || bytes > LIMIT.TMQNAMELEN) {
    checker.fault(
      entry.name,
      text,
      `service name ${shown(text)} has ${bytes} bytes; legal: 1..${LIMIT.TMQNAMELEN}`,
    );
  }
  checkBufferTypes(view);
  return {
    entry,
    name: text,
    group: view.text('SRVGRP') === '' ? undefined : view.text('SRVGRP'),
    load: view.number('LOAD'),
    prio: view.number('PRIO'),
    blockTimeS: view.number('BLOCKTIME'),
    bufferTypes: view.text('BUFTYPE').replace(/;\s*$/, ''),
    tranTimeS: view.number('TRANTIME'),
    autotran: view.flag('AUTOTRAN'),
    routing: view.text('ROUTING'),
    line,
    column,
  };
}

// What the CLOPT of TMQUEUE, TMQFORWARD and WSL asks for [spec 4.1, 4.2, 6.6, DESIGN 2]. Owns the meaning of their options and the
// list of Tuxedo's own servers; must not know groups or other servers (servers.ts).

import { LIMIT } from '../../proto/codes.ts';
import { ADDRESS_LEGAL, parseAddress } from './address.ts';
import type { About, EntryView } from './checker.ts';
import {
  type Option,
  type OptionList,
  parseClopt,
  parseOptions,
  parseSeconds,
  splitList,
  TMQFORWARD_OPTIONS,
  TMQUEUE_OPTIONS,
  type Word,
  WSL_OPTIONS,
} from './clopt.ts';
import { shown, type Spot } from './fault.ts';
import type { ListenAddress, Role } from './model.ts';
import { spotInside } from './parser.ts';
import { byteLength, findMacros } from './values.ts';

const TMQUEUE_TIMEOUT_S = 30;
const TMQFORWARD_TIMEOUT_S = 60;
const TMQFORWARD_IDLE_S = 30;

/** Servers that come with Tuxedo and have no counterpart here. */
const SYSTEM_SERVERS = new Set(
  (
    'AUTHSVR LAUTHSVR GAUTHSVR XAUTHSVR DMADM GWADM GWTDOMAIN GWSNAX GWTOPEND GWOSITP GWWS ISL JSL JREPSVR LMS TMFFNAME TMIFRSVR ' +
    'TMSYSEVT TMUSREVT TMMETADATA TMTRACESVR TMADMSVR TMIFSRV TMEVT TMUSREV BRIDGE DMADMSVR TMMQUEUE TMMQFWD WTCSVR TMQEVT'
  ).split(' '),
);

/** The role a server's name gives it; a path counts by its last part. */
export function roleKind(name: string): Role['kind'] {
  const base = name.slice(name.lastIndexOf('/') + 1);
  if (base === 'TMQUEUE') return 'tmqueue';
  if (base === 'TMQFORWARD') return 'tmqforward';
  if (base === 'WSL') return 'wsl';
  return SYSTEM_SERVERS.has(base) ? 'system' : 'application';
}

export function buildRole(view: EntryView): Role {
  const reader = new CloptReader(view);
  const kind = roleKind(view.entry.name.text);
  if (kind === 'tmqueue') return reader.tmqueue();
  if (kind === 'tmqforward') return reader.tmqforward();
  if (kind === 'wsl') return reader.wsl();
  if (kind === 'system') reader.remarkSystemServer();
  return { kind };
}

class CloptReader {
  readonly #view: EntryView;
  readonly #text: string;
  readonly #group: string;

  constructor(view: EntryView) {
    this.#view = view;
    this.#text = view.text('CLOPT');
    this.#group = view.text('SRVGRP');
  }

  tmqueue(): Role {
    const { servopts, uargs } = this.#clopt();
    const own = parseOptions(uargs, TMQUEUE_OPTIONS);
    this.#refuseLeftovers('TMQUEUE', own);
    const aliases: string[] = [];
    const services = servopts.options.filter((option) => option.name === 's');
    for (const option of services) aliases.push(...this.#aliases(option));
    if (services.length === 0) aliases.push('TMQUEUE');
    return {
      kind: 'tmqueue',
      aliases: [...new Set(aliases)],
      timeoutS: this.#seconds(own, 't', TMQUEUE_TIMEOUT_S),
    };
  }

  tmqforward(): Role {
    const { uargs } = this.#clopt();
    const own = parseOptions(uargs, TMQFORWARD_OPTIONS);
    this.#refuseLeftovers('TMQFORWARD', own);
    const lists = own.options.filter((option) => option.name === 'q');
    const unread = own.problems.some((problem) => problem.word === '-q');
    if (lists.length === 0 && !unread) {
      const message = 'TMQFORWARD has no queue list; legal: CLOPT="-- -q QUEUE[,QUEUE...]"';
      this.#view.checker.fault(this.#view.spot('CLOPT'), 'TMQFORWARD', message);
    }
    const has = (name: string): boolean => own.options.some((option) => option.name === name);
    this.#warnOfIdle(own);
    const queues = lists.flatMap((option) => this.#names(splitList(option), 'queue'));
    return {
      kind: 'tmqforward',
      queues: [...new Set(queues)],
      timeoutS: this.#seconds(own, 't', TMQFORWARD_TIMEOUT_S),
      idleS: this.#seconds(own, 'i', TMQFORWARD_IDLE_S),
      exitsWhenEmpty: has('e'),
      keepsFailures: has('d'),
      isOutside: has('n'),
      fireDelayS: this.#seconds(own, 'f', null),
      blockTimeS: this.#seconds(own, 'b', 0),
    };
  }

  /** Options of TMQFORWARD that another one takes the sense from, or that need another one [spec 4.2]. */
  #warnOfIdle({ options }: OptionList): void {
    const find = (name: string): Option | undefined => options.find((option) => option.name === name);
    const warn = ({ name, index }: Option, why: string): void =>
      this.#view.checker.warn(this.#about(index, `-${name}`), `-${name} does nothing ${why}`);
    const [d, f, n, b] = [find('d'), find('f'), find('n'), find('b')];
    if (d !== undefined && f !== undefined) warn(d, 'with -f: no answer is waited for');
    if (b !== undefined && n === undefined && f === undefined) warn(b, 'without -n or -f: -t is the limit');
  }

  remarkSystemServer(): void {
    const { text, line, column } = this.#view.entry.name;
    const message = `${shown(text)} is one of Tuxedo's own servers; it has no meaning here`;
    this.#view.checker.remark('no meaning here', { at: { line, column }, word: text, message });
  }

  /** Only the addresses count: handlers, ports and timeouts of the workstation product have no meaning here. */
  wsl(): Role {
    const { uargs } = this.#clopt();
    const listen: ListenAddress[] = [];
    for (const option of parseOptions(uargs, WSL_OPTIONS).options) {
      const { name, argument, index } = option;
      if (name !== 'n') this.#remarkOption(option);
      if (name !== 'n' || findMacros(argument).length > 0) continue;
      const at = this.#at(index);
      const address = parseAddress(argument);
      if (address !== undefined) listen.push({ ...address, line: at.line });
      else
        this.#view.checker.fault(
          at,
          argument,
          `-n: ${shown(argument)} is no address; legal: ${ADDRESS_LEGAL}`,
        );
    }
    return { kind: 'wsl', listen };
  }

  #clopt(): ReturnType<typeof parseClopt> {
    const clopt = parseClopt(this.#text);
    this.#refuseLeftovers('CLOPT before "--"', clopt.servopts);
    // -A is what every server says, and -s of TMQUEUE is used.
    const isQueue = roleKind(this.#view.entry.name.text) === 'tmqueue';
    for (const option of clopt.servopts.options) {
      if (option.name !== 'A' && !(isQueue && option.name === 's')) this.#remarkOption(option);
    }
    return clopt;
  }

  #remarkOption({ name, index }: Option): void {
    const message = `option -${name} of ${shown(this.#view.entry.name.text)} has no meaning here`;
    this.#view.checker.remark('no meaning here', { at: this.#at(index), word: `-${name}`, message });
  }

  #refuseLeftovers(whose: string, list: OptionList): void {
    for (const { index, word, message } of list.problems) {
      this.#view.checker.fault(this.#at(index), word, `${whose}: ${shown(message)}`);
    }
    for (const { text, index } of list.operands) {
      if (findMacros(text).length > 0) continue;
      const message = `${whose}: ${shown(text)} belongs to no option; blanks may not stand in a list, server options stand after "--"`;
      this.#view.checker.fault(this.#at(index), text, message);
    }
  }

  /** `-s A,B:TMQUEUE`; a name without a function is served by the function of that name [spec 6.6]. */
  #aliases(option: Option): string[] {
    const { argument, index } = option;
    if (argument.startsWith('@')) {
      if (findMacros(argument).length === 0)
        this.#view.checker.later('services from a file', this.#about(index, argument));
      return [];
    }
    const colon = argument.indexOf(':');
    const list = colon < 0 ? argument : argument.slice(0, colon);
    const items = splitList({ ...option, argument: list });
    const called = colon < 0 ? undefined : argument.slice(colon + 1);
    if (called === 'TMQUEUE' || (called === undefined && items.every((item) => item.text === 'TMQUEUE'))) {
      return this.#names(items, 'alias');
    }
    if (findMacros(called ?? list).length > 0) return [];
    this.#view.checker.fault(this.#at(index), argument, wrongFunction(list, called));
    return [];
  }

  #names(items: readonly Word[], what: 'queue' | 'alias'): string[] {
    return items.filter((item) => this.#isName(item, what)).map((item) => item.text);
  }

  #isName({ text, index }: Word, what: 'queue' | 'alias'): boolean {
    const bytes = byteLength(text);
    if (bytes >= 1 && bytes <= LIMIT.TMQNAMELEN) return true;
    const message = `${what} name "${shown(text)}" has ${bytes} bytes; legal: 1..${LIMIT.TMQNAMELEN}, a list is A,B without blanks`;
    this.#view.checker.fault(this.#at(index), text, message);
    return false;
  }

  /** The last of several counts; one that is no number is ignored with a warning [spec 4.2]. */
  #seconds<T extends number | null>(list: OptionList, name: string, fallback: T): number | T {
    let result: number | T = fallback;
    for (const option of list.options) {
      if (option.name !== name) continue;
      const seconds = parseSeconds(option.argument);
      if (seconds !== undefined) result = seconds;
      else if (findMacros(option.argument).length === 0) {
        const what = `-${name}: ${shown(option.argument)} is no number of seconds 0..2147483647`;
        const then =
          fallback === null ? `it is as if -${name} were not given` : `the default ${fallback} is used`;
        const message = `${what}; ignored, ${then}`;
        this.#view.checker.warn(this.#about(option.index, option.argument), message);
        result = fallback;
      }
    }
    return result;
  }

  #about(index: number, word: string): About {
    return { at: this.#at(index), word, group: this.#group };
  }

  #at(index: number): Spot {
    const parameter = this.#view.find('CLOPT');
    return parameter === undefined ? this.#view.entry.name : spotInside(parameter.value, index);
  }
}

function wrongFunction(list: string, called: string | undefined): string {
  const names = list.split(',').filter((name) => name !== 'TMQUEUE');
  if (called === undefined) {
    const alias = names.join(',');
    return `-s ${shown(list)}: TMQUEUE has no function ${shown(names[0] ?? '')}; legal: -s ${shown(alias)}:TMQUEUE`;
  }
  if (list.split(',').includes('TMQUEUE')) {
    const text = `${list}:${called}`;
    return `-s ${shown(text)}: the alias list stands the wrong way round; legal: -s ${shown(called)}:TMQUEUE`;
  }
  return `-s ${shown(list)}:${shown(called)}: TMQUEUE has no function ${shown(called)}; legal: -s ${shown(list)}:TMQUEUE`;
}

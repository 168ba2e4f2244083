// Collects what is found while a tree is checked, and gives typed access to an entry's parameters. Owns the rules that hold for every
// parameter (known, once, of its type, macros, notes); must not know what one parameter means to another.

import { assert } from '../base/assert.ts';
import { nearest } from '../base/similar.ts';
import { FaultList, FINDINGS_MAX, shown, sortFaults, type Fault, type Finding, type Spot } from './fault.ts';
import type { Note, NotYet, Remark } from './model.ts';
import { notYetMessage, type NotYetKind } from './not-yet.ts';
import { PARAMETERS, ruleOf, type Rule, type Status } from './parameters.ts';
import {
  type Entry,
  type Parameter,
  type Section,
  spotInside,
  type SyntaxTree,
  type Value,
} from './parser.ts';
import { isSectionName, SECTIONS, type SectionName } from './sections.ts';
import { convert, findMacros, type Converted } from './values.ts';

/** What a note or a refusal is about; `group` ties it to the machine of that group. */
export interface About {
  readonly at: Spot;
  readonly word: string;
  readonly group: string | undefined;
}

export class Checker {
  readonly file: string;
  readonly complete: boolean;
  readonly faults: FaultList;
  /** By the value itself; a Spot as key, since a finding is placed by the value it is about. */
  readonly macrosOf = new Map<Spot, Fault[]>();
  readonly #warnings = new Map<string, Note>();
  readonly #notYet = new Map<string, NotYet>();
  readonly #remarks = new Map<string, Remark>();
  readonly #converted = new Map<Parameter, Converted | undefined>();

  constructor(tree: SyntaxTree) {
    this.file = tree.file;
    this.complete = tree.complete;
    this.faults = new FaultList(tree.file);
  }

  /** What is wrong. A value that holds an unfilled macro is not judged: nobody knows yet what it will say. */
  fault(at: Spot, word: string, message: string): void {
    if (!this.macrosOf.has(at)) this.faults.add({ at, word, message });
  }

  /** Something that should be there is not. Said only when nothing of the file was skipped. */
  missing(at: Spot, word: string, message: string): void {
    if (this.complete) this.fault(at, word, message);
  }

  warn(about: About, message: string): void {
    const { at, word, group } = about;
    const key = `${at.line}:${at.column}:${group ?? ''}:${message}`;
    if (this.#warnings.size >= FINDINGS_MAX) return;
    this.#warnings.set(key, {
      file: this.file,
      line: at.line,
      column: at.column,
      word: shown(word),
      message,
      group,
    });
  }

  later(kind: NotYetKind, about: About): void {
    const { at, word, group } = about;
    const key = `${at.line}:${at.column}:${group ?? ''}:${kind}`;
    if (this.#notYet.size >= FINDINGS_MAX) return;
    const message = notYetMessage(kind);
    const { line, column } = at;
    this.#notYet.set(key, { file: this.file, line, column, word: shown(word), message, group, kind });
  }

  /** What is accepted and does nothing, never or not in this release: for `check -v`. */
  remark(status: Exclude<Status, 'effective'>, { at, word, message }: Finding): void {
    const { line, column } = at;
    const key = `${line}:${column}:${message}`;
    if (this.#remarks.size >= FINDINGS_MAX) return;
    this.#remarks.set(key, { file: this.file, line, column, word: shown(word), message, status });
  }

  remarks(): Remark[] {
    return sortFaults([...this.#remarks.values()]);
  }

  warnings(): Note[] {
    return sortFaults([...this.#warnings.values()]);
  }

  notYet(): NotYet[] {
    return sortFaults([...this.#notYet.values()]);
  }

  macros(): Fault[] {
    return sortFaults([...this.macrosOf.values()].flat());
  }

  /** The rules that hold for every parameter, on every DEFAULT: line and every entry of a section. */
  checkSection(section: Section): void {
    if (!isSectionName(section.name)) return;
    if (SECTIONS[section.name].meaningless) {
      const message = `section *${section.name} has no meaning here`;
      this.remark('no meaning here', { at: section, word: section.name, message });
    }
    for (const parameters of [
      section.parameters,
      ...section.defaults,
      ...section.entries.map((entry) => entry.own),
    ]) {
      this.#checkParameters(section.name, parameters);
    }
    for (const { name } of section.entries) this.noteMacros(name, false);
  }

  #checkParameters(section: SectionName, parameters: readonly Parameter[]): void {
    if (PARAMETERS[section] === undefined) return;
    const seen = new Map<string, number>();
    for (const parameter of parameters) {
      const { key, value } = parameter;
      const rule = ruleOf(section, key.text);
      const before = seen.get(key.text);
      if (key.bad) continue;
      if (rule === undefined) {
        this.fault(key, key.text, unknownKey(section, key.text));
        continue;
      }
      if (before !== undefined) {
        this.fault(key, key.text, `${key.text} stands twice, first on line ${before}; legal is once`);
        continue;
      }
      seen.set(key.text, key.line);
      this.noteMacros(value, rule.type === 'text' && rule.shell);
      this.convert(rule, parameter);
      if (rule.status !== 'effective') {
        const what = rule.status === 'no meaning here' ? 'has no meaning here' : 'is not yet in effect';
        const message = `${key.text} of *${section} ${what}`;
        this.remark(rule.status, { at: key, word: key.text, message });
      }
    }
  }

  /** The value of a parameter in its type; undefined when it is wrong (reported once) or is a macro where a number should be. */
  convert(rule: Rule, parameter: Parameter): Converted | undefined {
    const { key, value } = parameter;
    const known = this.#converted.get(parameter);
    if (known !== undefined || this.#converted.has(parameter)) return known;
    const conversion = value.bad ? undefined : convert(rule, value);
    if (conversion?.ok === false) this.fault(value, value.text, `${key.text}: ${conversion.problem}`);
    const converted = conversion?.ok === true ? conversion.value : undefined;
    this.#converted.set(parameter, converted);
    return converted;
  }

  noteMacros(value: Value, shell: boolean): void {
    // A variable that --expand-env did not find was reported already.
    const found = value.bad ? [] : findMacros(value.text, shell);
    if (found.length === 0) return;
    const faults = found.slice(0, FINDINGS_MAX).map(({ name, index }) => {
      const { line, column } = spotInside(value, index);
      const message = `the macro ${name} is not filled in; replace it by its value`;
      return { file: this.file, line, column, word: name, message };
    });
    this.macrosOf.set(value, faults);
  }
}

function legalKeys(section: SectionName): string[] {
  return Object.keys(PARAMETERS[section] ?? {});
}

function unknownKey(section: SectionName, key: string): string {
  const near = nearest(key, legalKeys(section));
  const hint = near === undefined ? '' : ` (${near}?)`;
  return `${shown(key)} is no parameter of *${section}${hint}; legal: ${legalKeys(section).join(' ')}`;
}

/** Typed access to one entry, defaults included. */
export class EntryView {
  readonly entry: Entry;
  readonly section: SectionName;
  readonly checker: Checker;

  constructor(checker: Checker, section: SectionName, entry: Entry) {
    this.checker = checker;
    this.section = section;
    this.entry = entry;
  }

  find(key: string): Parameter | undefined {
    return findParameter(this.entry, key);
  }

  /** The value's place, or the entry's name when the parameter is absent. */
  spot(key: string): Spot {
    return this.find(key)?.value ?? this.entry.name;
  }

  /** The parameter stands there with a usable value. */
  given(key: string): boolean {
    const parameter = this.find(key);
    return parameter !== undefined && this.checker.convert(this.#rule(key), parameter) !== undefined;
  }

  /** Its value holds an unfilled macro. */
  isMacro(key: string): boolean {
    const parameter = this.find(key);
    return parameter !== undefined && this.checker.macrosOf.has(parameter.value);
  }

  number(key: string): number {
    const value = this.#value(key);
    return typeof value === 'number' ? value : 0;
  }

  text(key: string): string {
    const value = this.#value(key);
    return typeof value === 'string' ? value : '';
  }

  flag(key: string): boolean {
    return this.#value(key) === true;
  }

  /** Reports every required parameter that is absent, unless a word that is probably meant for it was reported as unknown. */
  checkRequired(): void {
    const legal = legalKeys(this.section);
    const unknown = [...this.entry.own, ...this.entry.defaults].filter(
      ({ key }) => !legal.includes(key.text),
    );
    const meant = new Set(unknown.map(({ key }) => nearest(key.text, legal)));

    for (const [key, rule] of Object.entries(PARAMETERS[this.section] ?? {})) {
      if (!rule.required || meant.has(key) || this.find(key) !== undefined) continue;
      const { name } = this.entry;
      const at = { line: name.line, column: name.column };
      this.checker.missing(at, name.text, `${shown(name.text)} has no ${key}; it is required`);
    }
  }

  #rule(key: string): Rule {
    const rule = ruleOf(this.section, key);
    assert(rule !== undefined, `*${this.section} has no parameter ${key}`);
    return rule;
  }

  #value(key: string): Converted {
    const rule = this.#rule(key);
    const parameter = this.find(key);
    const value = parameter === undefined ? undefined : this.checker.convert(rule, parameter);
    return value ?? rule.fallback;
  }
}

/** An entry's own parameter, or the DEFAULT: line's. */
export function findParameter(entry: Entry, key: string): Parameter | undefined {
  const named = (parameter: Parameter): boolean => parameter.key.text === key;
  return entry.own.find(named) ?? entry.defaults.find(named);
}

// Environment variables in names and values, only for `--expand-env` [ubb-syntax]: `$NAME` and `${NAME}`, also inside the variables'
// own values. Unset is a fault, and so is a variable that refers to itself. `@NAME@` stays a macro; the shell's own variables in RCMD
// and CMD stay the shell's. Must not know where the variables come from.

import { FaultList, shown } from './fault.ts';
import { ruleOf } from './parameters.ts';
import type { Entry, Parameter, Section, SyntaxTree, Value } from './parser.ts';
import { isSectionName } from './sections.ts';
import { findMacros } from './values.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Characters of an expanded value; variables that double each other must not fill the memory. */
const EXPANDED_MAX = 65_536;

export function expandTree(tree: SyntaxTree, env: Environment): SyntaxTree {
  const faults = new FaultList(tree.file);
  const expander = new Expander(env, faults);
  const sections = tree.sections.map((section) => expander.section(section));
  return { ...tree, sections, faults: [...tree.faults, ...faults.sorted()] };
}

class Expander {
  readonly #env: Environment;
  readonly #faults: FaultList;

  constructor(env: Environment, faults: FaultList) {
    this.#env = env;
    this.#faults = faults;
  }

  /** Entries go on referring to the lists of their DEFAULT: lines. */
  section(section: Section): Section {
    const lists = new Map<readonly Parameter[], readonly Parameter[]>();
    const list = (parameters: readonly Parameter[]): readonly Parameter[] => {
      const known =
        lists.get(parameters) ?? parameters.map((parameter) => this.#parameter(section.name, parameter));
      lists.set(parameters, known);
      return known;
    };
    const entry = ({ name, own, defaults }: Entry): Entry => ({
      name: this.#value(name),
      own: list(own),
      defaults: list(defaults),
    });
    return {
      ...section,
      parameters: list(section.parameters),
      defaults: section.defaults.map(list),
      entries: section.entries.map(entry),
    };
  }

  #parameter(section: string, parameter: Parameter): Parameter {
    const { key, value } = parameter;
    const rule = isSectionName(section) ? ruleOf(section, key.text) : undefined;
    return rule?.type === 'text' && rule.shell ? parameter : { key, value: this.#value(value) };
  }

  #value(value: Value): Value {
    if (!value.text.includes('$') || value.bad) return value;
    const result = this.#expand(value.text, []);
    // Columns inside an expanded value mean nothing: without `raw` they all point at its start.
    if (typeof result === 'string') return { ...value, text: result, raw: '', items: [] };
    this.#faults.add({ at: value, word: value.text, message: result.problem });
    return { ...value, bad: true };
  }

  #expand(text: string, inside: readonly string[]): string | { readonly problem: string } {
    let expanded = '';
    let from = 0;
    for (const macro of findMacros(text)) {
      if (macro.name.startsWith('@')) continue;
      const name = macro.name.replaceAll(/[${}]/g, '');
      const value = Object.hasOwn(this.#env, name) ? this.#env[name] : undefined;
      if (value === undefined)
        return { problem: `the environment variable ${shown(name)} is not set; set it, or write its value` };
      if (inside.includes(name))
        return { problem: `the environment variable ${shown(name)} refers to itself` };
      const inner = this.#expand(value, [...inside, name]);
      if (typeof inner !== 'string') return inner;
      expanded += text.slice(from, macro.index) + inner;
      from = macro.index + macro.name.length;
      if (expanded.length > EXPANDED_MAX)
        return { problem: `the value is over ${EXPANDED_MAX} characters when expanded` };
    }
    return expanded + text.slice(from);
  }
}

// Ordered trees (treaps) of row handles, linked through columns: any number of trees share the same links, since a row is in at most
// one of them, and the caller keeps the roots. A node's heap priority is a hash of its handle, so the shape needs no random source and
// no storage. Every operation is O(log n) expected. The order must be total and must not change while a row is in a tree.
import { assert } from './assert.ts';
import { NONE } from './column.ts';

/** Where the two links of a row live. */
export interface Links {
  left(row: number): number;
  right(row: number): number;
  setLeft(row: number, to: number): void;
  setRight(row: number, to: number): void;
}

/** Whether row `a` comes before row `b`; never true both ways, false when a === b. */
export type Before = (a: number, b: number) => boolean;

export class OrderedTree {
  private readonly links: Links;

  constructor(links: Links) {
    this.links = links;
  }

  /** Adds `row`; returns the new root. */
  insert(root: number, row: number, before: Before): number {
    const { links } = this;
    const rank = rankOf(row);
    let parent = NONE;
    let parentLeft = false;
    let at = root;
    while (at !== NONE && rankOf(at) >= rank) {
      parent = at;
      parentLeft = before(row, at);
      at = parentLeft ? links.left(at) : links.right(at);
    }
    this.split(at, row, before);
    if (parent === NONE) return row;
    if (parentLeft) links.setLeft(parent, row);
    else links.setRight(parent, row);
    return root;
  }

  /** Adds `row`, which comes after all that is in the tree: nothing is compared. Returns the new root. */
  append(root: number, row: number): number {
    const { links } = this;
    const rank = rankOf(row);
    let parent = NONE;
    let at = root;
    while (at !== NONE && rankOf(at) >= rank) {
      parent = at;
      at = links.right(at);
    }
    links.setLeft(row, at);
    links.setRight(row, NONE);
    if (parent === NONE) return row;
    links.setRight(parent, row);
    return root;
  }

  /** The tree of rows that are in order and in no tree, in linear time; returns its root. The same tree as if each had been inserted. */
  build(rows: Uint32Array): number {
    const { links } = this;
    // From the root to the last row, always to the right.
    const spine: number[] = [];
    const ranks: number[] = [];
    let depth = 0;
    for (const row of rows) {
      const rank = rankOf(row);
      let below = NONE;
      while (depth > 0 && (ranks[depth - 1] as number) < rank) {
        depth--;
        below = spine[depth] as number;
      }
      links.setLeft(row, below);
      links.setRight(row, NONE);
      if (depth > 0) links.setRight(spine[depth - 1] as number, row);
      spine[depth] = row;
      ranks[depth] = rank;
      depth++;
    }
    return spine[0] ?? NONE;
  }

  /** Removes `row`, which is in the tree; returns the new root. */
  remove(root: number, row: number, before: Before): number {
    const { links } = this;
    let parent = NONE;
    let parentLeft = true;
    let at = root;
    if (links.left(row) === NONE) {
      // Mostly it is the first one: that is found without a comparison.
      for (let left = links.left(at); left !== NONE; left = links.left(at)) {
        parent = at;
        at = left;
      }
      if (at !== row) {
        parent = NONE;
        at = root;
      }
    }
    while (at !== row) {
      assert(at !== NONE, 'a row is not in the tree', row);
      parent = at;
      parentLeft = before(row, at);
      at = parentLeft ? links.left(at) : links.right(at);
    }
    const rest = this.merge(links.left(row), links.right(row));
    links.setLeft(row, NONE);
    links.setRight(row, NONE);
    if (parent === NONE) return rest;
    if (parentLeft) links.setLeft(parent, rest);
    else links.setRight(parent, rest);
    return root;
  }

  /** The first row in order, or 0. */
  first(root: number): number {
    let at = root;
    if (at === NONE) return NONE;
    for (let left = this.links.left(at); left !== NONE; left = this.links.left(at)) at = left;
    return at;
  }

  /** The last row in order, or 0. */
  last(root: number): number {
    let at = root;
    if (at === NONE) return NONE;
    for (let right = this.links.right(at); right !== NONE; right = this.links.right(at)) at = right;
    return at;
  }

  /** The first row after `row` (which need not be in the tree), or 0. */
  after(root: number, row: number, before: Before): number {
    let found = NONE;
    for (let at = root; at !== NONE;) {
      if (before(row, at)) {
        found = at;
        at = this.links.left(at);
      } else {
        at = this.links.right(at);
      }
    }
    return found;
  }

  /** The first row of which `isBehind` is true, or 0: it must be true of all rows from some place on, and of none before. */
  firstThat(root: number, isBehind: (row: number) => boolean): number {
    let found = NONE;
    for (let at = root; at !== NONE;) {
      if (isBehind(at)) {
        found = at;
        at = this.links.left(at);
      } else {
        at = this.links.right(at);
      }
    }
    return found;
  }

  /** The last row before `row` (which need not be in the tree), or 0. */
  before(root: number, row: number, before: Before): number {
    let found = NONE;
    for (let at = root; at !== NONE;) {
      if (before(at, row)) {
        found = at;
        at = this.links.right(at);
      } else {
        at = this.links.left(at);
      }
    }
    return found;
  }

  /** Splits the subtree `at` around `row` and hangs the halves under it. */
  private split(at: number, row: number, before: Before): void {
    const { links } = this;
    let leftEnd = NONE; // the rightmost node of what comes before `row` so far
    let rightEnd = NONE;
    links.setLeft(row, NONE);
    links.setRight(row, NONE);
    for (let node = at; node !== NONE;) {
      if (before(row, node)) {
        if (rightEnd === NONE) links.setRight(row, node);
        else links.setLeft(rightEnd, node);
        rightEnd = node;
        node = links.left(node);
      } else {
        if (leftEnd === NONE) links.setLeft(row, node);
        else links.setRight(leftEnd, node);
        leftEnd = node;
        node = links.right(node);
      }
    }
    if (leftEnd !== NONE) links.setRight(leftEnd, NONE);
    if (rightEnd !== NONE) links.setLeft(rightEnd, NONE);
  }

  /** Joins two trees of which every row of `a` comes before every row of `b`. */
  private merge(a: number, b: number): number {
    if (a === NONE) return b;
    if (b === NONE) return a;
    const { links } = this;
    let left = a;
    let right = b;
    let root = NONE;
    let parent = NONE;
    let parentLeft = false;
    while (left !== NONE && right !== NONE) {
      const takeLeft = rankOf(left) >= rankOf(right);
      const node = takeLeft ? left : right;
      if (parent === NONE) root = node;
      else if (parentLeft) links.setLeft(parent, node);
      else links.setRight(parent, node);
      parent = node;
      parentLeft = !takeLeft;
      if (takeLeft) left = links.right(node);
      else right = links.left(node);
    }
    const rest = left !== NONE ? left : right;
    if (parentLeft) links.setLeft(parent, rest);
    else links.setRight(parent, rest);
    return root;
  }
}

function rankOf(row: number): number {
  let h = Math.imul(row ^ (row >>> 16), 0x45d9_f3b3);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b_3c6d);
  return (h ^ (h >>> 13)) >>> 0;
}

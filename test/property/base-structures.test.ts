// The structures that hold a backlog, against the naive thing they replace.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { u32Column } from '../../src/base/column.ts';
import { Heap, type HeapItem } from '../../src/base/heap.ts';
import { HashIndex, hashWords } from '../../src/base/hash-index.ts';
import { OrderedTree } from '../../src/base/ordered-tree.ts';
import { RowList } from '../../src/base/row-list.ts';

class KeyIndex extends HashIndex {
  readonly keys = u32Column();
  private wanted = 0;
  find(key: number): number {
    this.wanted = key;
    return this.lookup(hashWords(0, key));
  }
  protected hashOf(row: number): number {
    return hashWords(0, this.keys.get(row));
  }
  protected matches(row: number): boolean {
    return this.keys.get(row) === this.wanted;
  }
}

describe('HashIndex', () => {
  it('finds what was added and not removed, through every growth step', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 300 })), { maxLength: 2000 }),
        fc.boolean(),
        fc.integer({ min: 0, max: 400 }),
        (steps, growsAtOnce, reserved) => {
          const index = new KeyIndex();
          index.growsAtOnce = growsAtOnce;
          if (reserved > 0) index.reserve(reserved);
          const model = new Map<number, number>();
          let row = 0;
          for (const [add, key] of steps) {
            const known = model.get(key);
            if (add && known === undefined) {
              row++;
              index.keys.ensure(row);
              index.keys.set(row, key);
              index.add(row);
              model.set(key, row);
            } else if (!add && known !== undefined) {
              index.remove(known);
              model.delete(key);
            }
            expect(index.size).toBe(model.size);
          }
          for (let key = 0; key <= 300; key++) expect(index.find(key)).toBe(model.get(key) ?? 0);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('takes a busy time of few rows after a backlog has gone: no table is ever full', () => {
    for (const [backlog, left] of [
      [20_000, 120],
      [20_000, 1],
      [1500, 75],
      [60_000, 1000],
    ] as const) {
      const index = new KeyIndex();
      index.keys.ensure(200_000);
      let row = 0;
      const add = (): void => {
        row++;
        index.keys.set(row, row);
        index.add(row);
      };
      for (let i = 0; i < backlog; i++) add();
      for (let gone = 1; gone <= backlog - left; gone++) index.remove(gone);
      for (let i = 0; i < 30_000; i++) {
        add();
        if (index.find(row) !== row) expect(index.find(row)).toBe(row);
        index.remove(row);
      }
      for (let kept = backlog - left + 1; kept <= backlog; kept++) expect(index.find(kept)).toBe(kept);
    }
  });

  it('takes as many as were reserved without growing, and that is for an empty one only', () => {
    for (const rows of [0, 47, 48, 49, 5000]) {
      const index = new KeyIndex();
      index.keys.ensure(rows);
      index.reserve(rows);
      const { bytes } = index;
      for (let row = 1; row <= rows; row++) {
        index.keys.set(row, row);
        index.add(row);
      }
      expect(index.bytes).toBe(bytes);
      for (let row = 1; row <= rows; row++) expect(index.find(row)).toBe(row);
      if (rows > 0) expect(() => index.reserve(rows)).toThrow(/sized before it is filled/);
    }
  });

  it('does not grow without bound while rows come and go', () => {
    const index = new KeyIndex();
    index.keys.ensure(200_000);
    for (let row = 1; row <= 200_000; row++) {
      index.keys.set(row, row);
      index.add(row);
      if (row > 100) index.remove(row - 100);
    }
    expect(index.size).toBe(100);
    expect(index.bytes).toBeLessThan(8192);
  });
});

describe('OrderedTree', () => {
  it('keeps rows in order whatever is inserted and removed', () => {
    const operation = fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 120 }));
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 400 }), fc.infiniteStream(fc.integer()), (steps, keys) => {
        const left = u32Column();
        const right = u32Column();
        left.ensure(200);
        right.ensure(200);
        const key = [0];
        for (let i = 1; i <= 120; i++) key.push(keys.next().value as number);
        const before = (a: number, b: number) =>
          key[a] === key[b] ? a < b : (key[a] as number) < (key[b] as number);
        const tree = new OrderedTree({
          left: (row) => left.get(row),
          right: (row) => right.get(row),
          setLeft: (row, to) => left.set(row, to),
          setRight: (row, to) => right.set(row, to),
        });
        let root = 0;
        const model = new Set<number>();
        for (const [insert, row] of steps) {
          if (insert && !model.has(row)) {
            root = tree.insert(root, row, before);
            model.add(row);
          } else if (!insert && model.has(row)) {
            root = tree.remove(root, row, before);
            model.delete(row);
          }
          const sorted = [...model].sort((a, b) => (before(a, b) ? -1 : 1));
          expect(tree.first(root)).toBe(sorted[0] ?? 0);
        }
        const walked: number[] = [];
        for (let row = tree.first(root); row !== 0; row = tree.after(root, row, before)) walked.push(row);
        expect(walked).toEqual([...model].sort((a, b) => (before(a, b) ? -1 : 1)));
      }),
      { numRuns: 200 },
    );
  });
});

/** A tree of rows whose keys are the given ones, with its links to look at. */
function treeOf(keys: readonly number[]) {
  const left = u32Column();
  const right = u32Column();
  left.ensure(keys.length);
  right.ensure(keys.length);
  const keyOf = (row: number): number => keys[row - 1] as number;
  const before = (a: number, b: number): boolean => (keyOf(a) === keyOf(b) ? a < b : keyOf(a) < keyOf(b));
  const tree = new OrderedTree({
    left: (row) => left.get(row),
    right: (row) => right.get(row),
    setLeft: (row, to) => left.set(row, to),
    setRight: (row, to) => right.set(row, to),
  });
  // Links of rows that are in no tree mean nothing.
  for (let row = 1; row <= keys.length; row++) {
    left.set(row, 77);
    right.set(row, 77);
  }
  const links = () => keys.map((_, i) => [left.get(i + 1), right.get(i + 1)]);
  return { tree, before, links };
}

const keyLists = fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 200 });

describe('OrderedTree, many at once', () => {
  it('built from rows in order is the tree of one insertion after the other, and so is one that was appended to', () => {
    fc.assert(
      fc.property(keyLists, (keys) => {
        const [built, inserted, appended] = [treeOf(keys), treeOf(keys), treeOf(keys)];
        const rows = keys.map((_, i) => i + 1);
        const sorted = rows.toSorted((a, b) => (built.before(a, b) ? -1 : 1));
        const root = built.tree.build(Uint32Array.from(sorted));
        const byOne = rows.reduce((at, row) => inserted.tree.insert(at, row, inserted.before), 0);
        const atEnd = sorted.reduce((at, row) => appended.tree.append(at, row), 0);
        expect([byOne, atEnd]).toEqual([root, root]);
        expect(built.links()).toEqual(inserted.links());
        expect(appended.links()).toEqual(inserted.links());
        expect(built.tree.first(root)).toBe(sorted[0] ?? 0);
        expect(built.tree.last(root)).toBe(sorted.at(-1) ?? 0);
      }),
    );
  });

  it('without its first row is the tree of the others', () => {
    fc.assert(
      fc.property(keyLists, (keys) => {
        const { tree, before, links } = treeOf(keys);
        const sorted = keys.map((_, i) => i + 1).toSorted((a, b) => (before(a, b) ? -1 : 1));
        let root = tree.build(Uint32Array.from(sorted));
        for (let gone = 1; gone <= sorted.length; gone++) {
          root = tree.remove(root, sorted[gone - 1] as number, before);
          const rest = treeOf(keys);
          expect(root).toBe(rest.tree.build(Uint32Array.from(sorted.slice(gone))));
          for (const row of sorted.slice(gone)) expect(links()[row - 1]).toEqual(rest.links()[row - 1]);
          if (gone > 5) break;
        }
      }),
    );
  });
});

describe('RowList', () => {
  it('gives its rows in order, however they came, with a comparison each when they came so', () => {
    const runs = fc
      .array(fc.tuple(fc.integer({ min: 0, max: 1000 }), fc.integer({ min: -40, max: 40 })), {
        maxLength: 12,
      })
      .map((parts) =>
        parts.flatMap(([from, length]) =>
          Array.from({ length: Math.abs(length) }, (_, i) => from + Math.sign(length) * i),
        ),
      );
    fc.assert(
      fc.property(fc.oneof(keyLists, runs), (keys) => {
        const list = new RowList(keys.length % 3);
        keys.forEach((_, i) => list.push(i + 1));
        let compared = 0;
        const before = (a: number, b: number): boolean => {
          compared++;
          const [keyA, keyB] = [keys[a - 1] as number, keys[b - 1] as number];
          return keyA === keyB ? a < b : keyA < keyB;
        };
        const expected = keys.map((_, i) => i + 1).toSorted((a, b) => (before(a, b) ? -1 : 1));
        expect([...list.sorted(before)]).toEqual(expected);
        compared = 0;
        list.sorted(before);
        expect(compared).toBeLessThanOrEqual(keys.length);
      }),
    );
  });
});

describe('Heap', () => {
  it('gives the smallest first, also after removals from the middle', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.integer(), fc.boolean())), (entries) => {
        const heap = new Heap<HeapItem & { value: number }>((a, b) => a.value < b.value);
        const items = entries.map(([value, leaves]) => ({ value, leaves, heapIndex: -1 }));
        for (const item of items) heap.push(item);
        for (const item of items) if (item.leaves) heap.remove(item);
        const out: number[] = [];
        for (let first = heap.first(); first !== undefined; first = heap.first()) {
          out.push(first.value);
          heap.remove(first);
        }
        const stay = items.filter((item) => !item.leaves).map((item) => item.value);
        expect(out).toEqual(stay.sort((a, b) => a - b));
      }),
    );
  });
});

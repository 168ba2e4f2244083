// A binary heap of objects, smallest first, each knowing its place so that it can leave from the middle.

export interface HeapItem {
  /** Place in the heap, maintained by it; -1 when in none. */
  heapIndex: number;
}

export class Heap<T extends HeapItem> {
  private readonly items: T[] = [];
  private readonly less: (a: T, b: T) => boolean;

  constructor(less: (a: T, b: T) => boolean) {
    this.less = less;
  }

  get size(): number {
    return this.items.length;
  }

  first(): T | undefined {
    return this.items[0];
  }

  push(item: T): void {
    item.heapIndex = this.items.length;
    this.items.push(item);
    this.up(item);
  }

  /** Takes out `item` if it is in the heap. */
  remove(item: T): void {
    const at = item.heapIndex;
    if (at < 0) return;
    const last = this.items.pop() as T;
    item.heapIndex = -1;
    if (last === item) return;
    this.put(last, at);
    this.up(last);
    this.down(last);
  }

  private put(item: T, at: number): void {
    item.heapIndex = at;
    this.items[at] = item;
  }

  private up(item: T): void {
    while (item.heapIndex > 0) {
      const parentAt = (item.heapIndex - 1) >> 1;
      const parent = this.items[parentAt] as T;
      if (!this.less(item, parent)) return;
      const at = item.heapIndex;
      this.put(item, parentAt);
      this.put(parent, at);
    }
  }

  private down(item: T): void {
    for (;;) {
      const at = item.heapIndex;
      const left = this.items[2 * at + 1];
      const right = this.items[2 * at + 2];
      const child = right !== undefined && left !== undefined && this.less(right, left) ? right : left;
      if (child === undefined || !this.less(child, item)) return;
      const childAt = child.heapIndex;
      this.put(child, at);
      this.put(item, childAt);
    }
  }
}

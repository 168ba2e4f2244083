// A list that is filled at the end and emptied at the front, in constant time.

export class Fifo<T> {
  private items: T[] = [];
  private head = 0;

  get length(): number {
    return this.items.length - this.head;
  }

  push(item: T): void {
    this.items.push(item);
  }

  shift(): T | undefined {
    if (this.head === this.items.length) return undefined;
    const item = this.items[this.head++];
    if (this.head > 1024 && this.head * 2 > this.items.length) {
      this.items = this.items.slice(this.head);
      this.head = 0;
    }
    return item;
  }

  /** The items in order. */
  list(): T[] {
    return this.items.slice(this.head);
  }

  /** Empties it; the items in order. */
  drain(): T[] {
    const all = this.list();
    this.items = [];
    this.head = 0;
    return all;
  }
}

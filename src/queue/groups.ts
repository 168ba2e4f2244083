// Transaction groups [oracle-aq 4.4]: which entries of a queue, or of a lane, were put there by one transaction. Only tables with message grouping
// have any, so these are objects. A group is named by the counter of its first message's id. Nothing here decides.

export class Groups {
  private readonly groupOf = new Map<number, number>();
  private readonly members = new Map<string, Set<number>>();

  get size(): number {
    return this.groupOf.size;
  }

  add(queue: number, entry: number, group: number): void {
    this.groupOf.set(entry, group);
    const key = keyOf(queue, group);
    const members = this.members.get(key);
    if (members === undefined) this.members.set(key, new Set([entry]));
    else members.add(entry);
  }

  remove(queue: number, entry: number): void {
    const group = this.groupOf.get(entry);
    if (group === undefined) return;
    this.groupOf.delete(entry);
    const key = keyOf(queue, group);
    const members = this.members.get(key);
    members?.delete(entry);
    if (members?.size === 0) this.members.delete(key);
  }

  /** 0: none. */
  of(entry: number): number {
    return this.groupOf.get(entry) ?? 0;
  }

  /** The entries of that group on that queue. */
  entriesOf(queue: number, group: number): readonly number[] {
    return [...(this.members.get(keyOf(queue, group)) ?? [])];
  }
}

function keyOf(queue: number, group: number): string {
  return `${queue}.${group}`;
}

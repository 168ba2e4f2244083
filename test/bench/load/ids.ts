// Request ids of clients that work in slots: the slot and the opcode, so that the requests of one slot are told apart. Below those that
// stamp.ts gives to messages and connection.ts to rare requests.
const IDS_EACH = 256;

export function slotId(slot: number, op: number): number {
  return (slot + 1) * IDS_EACH + op;
}

/** −1 for ids that are none of these. */
export function slotOf(id: number): number {
  return Math.floor(id / IDS_EACH) - 1;
}

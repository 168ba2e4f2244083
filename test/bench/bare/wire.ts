// The bare pipeline's wire: u32 length, then a short msgpack array of fixed layout.
//
//     request  | length u32 | 94 | 01 | ce id u32 | queue | c6 length u32 | data |
//     status   | length u32 | 92 | 02 | ce 0 u32  |
//     answer   | length u32 | 93 | 41 | ce id u32 | c0 |        (42: the number of syncs stands in place of the id)

export const BARE_OP = { ENQUEUE: 1, STATUS: 2, ENQUEUED: 0x41, SYNCS: 0x42 } as const;

/** Places within a frame, its length included. */
export const AT = { OP: 5, ID: 7, QUEUE: 11, DATA: 17 } as const;
export const STATUS_BYTES = 11;
export const ANSWER_BYTES = 12;

/** One enqueue, whose id is patched at AT.ID. */
export function enqueueFrame(dataBytes: number): Buffer {
  const frame = Buffer.alloc(AT.DATA + dataBytes, 0x2e);
  frame.writeUInt32BE(frame.length - 4, 0);
  frame[4] = 0x94;
  frame[AT.OP] = BARE_OP.ENQUEUE;
  frame[6] = 0xce;
  frame[AT.QUEUE] = 1;
  frame[12] = 0xc6;
  frame.writeUInt32BE(dataBytes, 13);
  return frame;
}

export function statusFrame(): Buffer {
  const frame = Buffer.alloc(STATUS_BYTES);
  frame.writeUInt32BE(STATUS_BYTES - 4, 0);
  frame.set([0x92, BARE_OP.STATUS, 0xce], 4);
  return frame;
}

export function writeAnswer(into: Buffer, at: number, answer: { op: number; value: number }): void {
  into.writeUInt32BE(ANSWER_BYTES - 4, at);
  into[at + 4] = 0x93;
  into[at + AT.OP] = answer.op;
  into[at + 6] = 0xce;
  into.writeUInt32BE(answer.value, at + AT.ID);
  into[at + 11] = 0xc0;
}

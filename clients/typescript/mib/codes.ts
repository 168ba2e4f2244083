// The numbers of the MIB that never go over the wire: what a request is answered, and the bits of TA_FLAGS [spec 7]. A number is never changed or
// reused.

/** TA_ERROR; what is below 0 comes with TPEMIB. */
export const TAERROR = {
  TAOK: 0,
  TAUPDATED: 1,
  TAPARTIAL: 2,
  TAEAPP: -1,
  TAECONFIG: -2,
  TAEINVAL: -3,
  TAEOS: -4,
  TAEPERM: -5,
  TAEPREIMAGE: -6,
  TAEPROTO: -7,
  TAEREQUIRED: -8,
  TAESUPPORT: -9,
  TAESYSTEM: -10,
  TAEUNIQ: -11,
} as const;
export type TaError = (typeof TAERROR)[keyof typeof TAERROR];

/** TA_FLAGS. */
export const MIB = {
  MIB_PREIMAGE: 0x1,
  MIB_LOCAL: 0x1_0000,
  QMIB_FORCECLOSE: 0x2_0000,
  QMIB_FORCEPURGE: 0x4_0000,
  QMIB_FORCEDELETE: 0x8_0000,
  MIB_SELF: 0x10_0000,
} as const;

export function taErrorName(value: number): string {
  const name = Object.entries(TAERROR).find(([, one]) => one === value)?.[0];
  return name ?? `TA_ERROR ${value}`;
}

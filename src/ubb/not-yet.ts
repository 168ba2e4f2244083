// What a file may ask for that this release does not do: `start` refuses, `check` names each. One row a kind, so that a later issue
// removes a row together with the call that reports it. Must not know where in a file the kinds occur.

export const NOT_YET = {
  security: 'SECURITY other than NONE',
  'alias in two groups': 'the same TMQUEUE alias in two groups of one machine',
  'space name twice': 'the same queue-space name in two groups of one machine',
  'services from a file': 'TMQUEUE option -s @file',
} as const;

export type NotYetKind = keyof typeof NOT_YET;

export function notYetMessage(kind: NotYetKind): string {
  return `not yet supported: ${NOT_YET[kind]}`;
}

// Every parameter of every section: type, legal range, default, and what this release does with it [spec 6.2–6.5, 5.3, 5.4]. Pure
// data plus the types of it; must not know how values are converted (values.ts) or what they mean together (domain.ts).
//
// `required` follows the spec except for TUXCONFIG and TUXDIR, which have no meaning here. Ranges the spec marks U are applied as given.

import type { SectionName } from './sections.ts';

/** What becomes of a parameter: used now; never meaningful here; meant to be used by a later release. */
export type Status = 'effective' | 'no meaning here' | 'not yet in effect';

export type Shape =
  | { readonly type: 'number'; readonly min: number; readonly max: number; readonly fallback: number }
  | { readonly type: 'flag'; readonly fallback: boolean }
  | { readonly type: 'choice'; readonly choices: readonly string[]; readonly fallback: string }
  | { readonly type: 'choices'; readonly choices: readonly string[]; readonly fallback: string }
  | {
      readonly type: 'text';
      readonly min: number;
      readonly max: number;
      readonly fallback: string;
      readonly shell: boolean;
    }
  | {
      readonly type: 'names';
      readonly bytesMax: number;
      readonly countMax: number;
      readonly fallback: string;
    }
  | { readonly type: 'size'; readonly fallback: number }
  | { readonly type: 'anything'; readonly fallback: string };

export type Rule = Shape & { readonly status: Status; readonly required: boolean };
type Rules = Readonly<Record<string, Rule>>;

export const INT_MAX = 2_147_483_647;
/** Bytes of a string parameter; a few may be longer [spec 6.1]. */
const TEXT_MAX = 256;
const LONG_TEXT_MAX = 1024;
/** Characters of an identifier [spec 6.1]. */
export const IDENT_MAX = 30;

const num = (min: number, max: number, fallback: number): Shape => ({ type: 'number', min, max, fallback });
const mode = (): Shape => num(0o001, 0o777, 0o666);
const flag = (fallback: boolean): Shape => ({ type: 'flag', fallback });
const choice = (...choices: readonly [string, ...string[]]): Shape => ({
  type: 'choice',
  choices,
  fallback: choices[0],
});
const text = (max = TEXT_MAX, min = 0, fallback = ''): Shape => ({
  type: 'text',
  min,
  max,
  fallback,
  shell: false,
});
const shell = (max = TEXT_MAX): Shape => ({ type: 'text', min: 0, max, fallback: '', shell: true });
const names = (bytesMax: number, countMax = 1): Shape => ({
  type: 'names',
  bytesMax,
  countMax,
  fallback: '',
});
const anything = (): Shape => ({ type: 'anything', fallback: '' });

function rules(status: Status, shapes: Readonly<Record<string, Shape>>, required = false): Rules {
  return Object.fromEntries(
    Object.entries(shapes).map(([key, shape]) => [key, { ...shape, status, required }]),
  );
}
const used = (shapes: Readonly<Record<string, Shape>>): Rules => rules('effective', shapes);
const needed = (shapes: Readonly<Record<string, Shape>>): Rules => rules('effective', shapes, true);
const later = (shapes: Readonly<Record<string, Shape>>): Rules => rules('not yet in effect', shapes);
const ignored = (shapes: Readonly<Record<string, Shape>>): Rules => rules('no meaning here', shapes);
/** Accepted with any value: newer releases' parameters whose ranges the spec does not give. */
const loose = (keys: string): Rules =>
  ignored(Object.fromEntries(keys.split(' ').map((key): [string, Shape] => [key, anything()])));

const SECURITY_KEYS =
  'SEC_PRINCIPAL_NAME SEC_PRINCIPAL_LOCATION SEC_PRINCIPAL_PASSVAR SIGNATURE_REQUIRED ENCRYPTION_REQUIRED';
const ids = (): Readonly<Record<string, Shape>> => ({
  UID: num(0, INT_MAX, 0),
  GID: num(0, INT_MAX, 0),
  PERM: mode(),
});

const RESOURCES: Rules = {
  ...rules('no meaning here', { IPCKEY: num(32_769, 262_143, 32_769) }, true),
  ...needed({ MASTER: names(IDENT_MAX, 2), MODEL: choice('SHM', 'MP') }),
  ...used({
    MAXGTT: num(0, 32_767, 100),
    MAXTRANTIME: num(0, INT_MAX, 0),
    SCANUNIT: num(1, 60, 10),
    BLOCKTIME: num(1, 32_767, 6),
    SECURITY: choice('NONE', 'APP_PW', 'USER_AUTH', 'ACL', 'MANDATORY_ACL'),
    NOTIFY: choice('DIPIN', 'SIGNAL', 'THREAD', 'IGNORE'),
    CMTRET: choice('COMPLETE', 'LOGGED'),
  }),
  ...later({
    AUTHSVC: names(15),
    LDBAL: flag(true),
  }),
  ...ignored({
    ...ids(),
    DOMAINID: text(IDENT_MAX),
    MAXACCESSERS: num(1, 32_767, 50),
    MAXSERVERS: num(1, 8191, 50),
    MAXSERVICES: num(1, 32_767, 100),
    MAXQUEUES: num(1, 8191, 50),
    MAXGROUPS: num(100, 32_767, 100),
    MAXNETGROUPS: num(1, 8191, 8),
    MAXCONV: num(0, 32_767, 64),
    MAXBUFTYPE: num(1, 32_767, 16),
    MAXBUFSTYPE: num(1, 32_767, 32),
    SANITYSCAN: num(1, 32_767, 12),
    BBLQUERY: num(1, 32_767, 30),
    DBBLWAIT: num(1, 32_767, 2),
    USIGNAL: choice('SIGUSR2', 'SIGUSR1'),
    SYSTEM_ACCESS: {
      type: 'choices',
      choices: ['FASTPATH', 'PROTECTED', 'NO_OVERRIDE'],
      fallback: 'FASTPATH',
    },
    OPTIONS: anything(),
  }),
  ...loose(
    `${SECURITY_KEYS} MAXACLGROUPS MAXDRT MAXRFT MAXRTDATA MAXSPDATA MAXMACHINES MAXINTERFACES MAXOBJECTS`,
  ),
  ...loose(
    'MAXPENDINGBYTES SIGNATURE_AHEAD SIGNATURE_BEHIND TMNETLOAD SHMQMAXMEM SICACHEENTRIESMAX COMPONENTS RMOPTIONS',
  ),
  ...loose('SSL_RENEGOTIATION EXALOGIC_MSGQ_CACHE_SIZE EXALOGIC_SHMQ_SIZE'),
};

const MACHINES: Rules = {
  ...needed({ LMID: names(IDENT_MAX), APPDIR: text(TEXT_MAX, 1) }),
  ...used({ MAXGTT: num(0, 32_767, 100), TLOGDEVICE: text(), TLOGNAME: names(IDENT_MAX) }),
  ...later({ ENVFILE: text(), ULOGPFX: text() }),
  ...ignored({
    ...ids(),
    TUXCONFIG: text(TEXT_MAX, 2),
    TUXDIR: text(TEXT_MAX, 2),
    TLOGOFFSET: num(0, INT_MAX, 0),
    TLOGSIZE: num(1, 2048, 100),
    MAXACCESSERS: num(1, 32_767, 50),
    MAXCONV: num(0, 32_767, 64),
    MAXWSCLIENTS: num(0, 32_767, 0),
    MAXACLCACHE: num(10, 32_000, 100),
    TYPE: text(15),
    BRIDGE: text(),
    NETLOAD: num(0, INT_MAX, 0),
    SPINCOUNT: num(0, INT_MAX, 0),
    CMPLIMIT: anything(),
  }),
  ...loose(
    `${SECURITY_KEYS} TUXOFFSET MAXPENDINGBYTES MAXSPDATA MAXINTERFACES MAXOBJECTS SICACHEENTRIESMAX SHMQMAXMEM`,
  ),
};

const GROUPS: Rules = {
  ...needed({ LMID: names(IDENT_MAX, 2), GRPNO: num(1, 29_999, 1) }),
  ...used({ TMSNAME: text(), OPENINFO: text() }),
  ...ignored({ TMSCOUNT: num(2, 10, 3), CLOSEINFO: text(), ENVFILE: text() }),
  ...loose(SECURITY_KEYS),
};

const SERVERS: Rules = {
  ...needed({ SRVGRP: names(IDENT_MAX), SRVID: num(1, 30_000, 1) }),
  ...used({
    CLOPT: text(LONG_TEXT_MAX, 0, '-A'),
    MIN: num(1, 1000, 1),
    MAX: num(1, 1000, 1),
    RESTART: flag(false),
    MAXGEN: num(1, 256, 1),
    GRACE: num(0, INT_MAX, 86_400),
    RCMD: shell(),
  }),
  // RQADDR and REPLYQ are checked against the rules for TMQFORWARD and MSSQ sets, and do nothing more.
  ...ignored({
    RQADDR: text(IDENT_MAX),
    REPLYQ: flag(false),
    SEQUENCE: num(1, 10_000, 1),
    CONV: flag(false),
    RQPERM: mode(),
    RPPERM: mode(),
    ENVFILE: text(),
    SYSTEM_ACCESS: {
      type: 'choices',
      choices: ['FASTPATH', 'PROTECTED', 'NO_OVERRIDE'],
      fallback: 'FASTPATH',
    },
    MINDISPATCHTHREADS: num(0, 1000, 0),
    MAXDISPATCHTHREADS: num(0, 1000, 1),
    THREADSTACKSIZE: num(0, INT_MAX, 0),
  }),
  ...loose(`${SECURITY_KEYS} SECONDARYRQ CONCURR_STRATEGY INTERFACES MAXSRVQUEUES`),
};

const SERVICES: Rules = {
  ...used({
    SRVGRP: names(IDENT_MAX),
    LOAD: num(1, 32_767, 50),
    PRIO: num(1, 100, 50),
    BLOCKTIME: num(0, 32_767, 0),
    BUFTYPE: text(TEXT_MAX, 0, 'ALL'),
    TRANTIME: num(0, INT_MAX, 30),
    AUTOTRAN: flag(false),
  }),
  ...later({
    ROUTING: names(15),
    SVCTIMEOUT: num(0, INT_MAX, 0),
  }),
  ...loose('BUFTYPECONV SIGNATURE_REQUIRED ENCRYPTION_REQUIRED SESSIONROLE CACHING'),
};

const ROUTING: Rules = later({
  FIELD: anything(),
  FIELDTYPE: anything(),
  RANGES: text(4096),
  BUFTYPE: text(),
  TYPE: anything(),
});

const QSPACES: Rules = {
  ...needed({ SRVGRP: names(IDENT_MAX) }),
  ...used({
    ERRORQ: text(127),
    PAGES: num(0, INT_MAX, 0),
    QUEUES: num(0, INT_MAX, 0),
    TRANS: num(0, INT_MAX, 0),
    PROCS: num(0, INT_MAX, 0),
    MSGS: num(0, INT_MAX, 0),
    ACTIONS: num(0, INT_MAX, 0),
    NONPERSIST: { type: 'size', fallback: 0 },
  }),
  ...ignored({ BLOCKING: num(1, 100, 16) }),
};

const QUEUES: Rules = {
  ...needed({ QSPACE: text(15, 1) }),
  ...used({
    ORDER: text(TEXT_MAX, 0, 'fifo'),
    OUTOFORDER: text(TEXT_MAX, 0, 'none'),
    RETRIES: num(0, INT_MAX, 0),
    DELAY: num(0, INT_MAX, 0),
    HIGH: text(IDENT_MAX, 1, '100%'),
    LOW: text(IDENT_MAX, 1, '0%'),
    CMD: shell(127),
    NHIGH: text(IDENT_MAX, 1, '100%'),
    NLOW: text(IDENT_MAX, 1, '0%'),
    NCMD: shell(127),
    POLICY: choice('persist', 'nonpersist'),
    EXPIRY: text(IDENT_MAX, 1, 'none'),
  }),
};

/** Sections that are accepted as a whole have no table. */
export const PARAMETERS: Readonly<Partial<Record<SectionName, Rules>>> = {
  RESOURCES,
  MACHINES,
  GROUPS,
  SERVERS,
  SERVICES,
  ROUTING,
  QSPACES,
  QUEUES,
};

/** The rule of a parameter; undefined when the section has none of that name. */
export function ruleOf(section: SectionName, key: string): Rule | undefined {
  const table = PARAMETERS[section];
  return table !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}

// Another product's queue tests [spec/peer-scenarios.md], every one by its id: tested here, or without meaning in Tuxedo's own model.
// scenarios.test.ts compares the list with the specification and with the tests. Must not know how a scenario is tested.

export interface Scenario {
  /** As the specification names it. */
  readonly name: string;
  /** Why it has no meaning here: a reason in Tuxedo's own model, never that something is not built yet. */
  readonly noMeaning?: string;
}

const NO_DEFAULT_QUEUE = 'a queue space has no default queue: a queue exists once qcreate made it';
const ONE_SYNC = 'Tuxedo has no choice of how a queue space is synced: the scenario is T86-14 again';

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'T28-01': { name: 'basic' },
  'T28-02': { name: 'futauto FIFO' },
  'T28-03': { name: 'futauto LIFO' },
  'T28-04': { name: 'enq' },
  'T28-05': { name: 'restart' },
  'T28-06': { name: 'admin: reload config' },
  'T28-07': { name: 'admin: list config' },
  'T28-08': { name: 'admin: list queues' },
  'T28-09': { name: 'admin: list messages / dump one' },
  'T28-10': { name: 'admin: dump binary' },
  'T28-11': { name: 'admin: remove message' },
  'T28-12': { name: 'admin: define a queue at run time' },
  'T28-13': { name: 'admin: move message' },
  'T28-14': { name: 'deqa' },
  'T28-15': { name: 'deqc' },
  'T28-16': { name: 'deqe' },
  'T28-17': { name: 'noabort' },
  'T28-18': { name: 'msgid' },
  'T28-19': { name: 'cortran' },
  'T28-20': { name: 'corauto' },
  'T28-21': { name: 'deqdefault', noMeaning: NO_DEFAULT_QUEUE },
  'T28-22': { name: 'corlifo' },
  'T28-23': { name: 'corfifo' },
  'T28-24': { name: 'autoqnr' },
  'T28-25': { name: 'autoqok' },
  'T28-26': { name: 'autodeadq' },
  'T28-27': { name: 'rndfail' },
  'T28-28': { name: 'LIFO set' },
  'T28-29': { name: 'futfifotrans' },
  'T28-30': { name: 'futlifotrans' },
  'T28-31': { name: 'futcorfifotrans' },
  'T28-32': { name: 'futcorlifotrans' },
  'T28-33': { name: 'bench (docs)' },

  'T86-01': { name: 'emptyq_commit_crash' },
  'T86-02': { name: 'forward timeouts' },
  'T86-03': { name: 'wake-up' },
  'T86-04': { name: 'crashloop_t' },
  'T86-05': { name: 'seqvalid' },
  'T86-06': { name: 'QoS, last queue slow' },
  'T86-07': { name: 'txtout' },
  'T86-08': { name: 'join load' },
  'T86-09': { name: 'QoS, one slow queue of five' },
  'T86-10': { name: 'autoperf' },
  'T86-11': { name: 'rmrollback' },
  'T86-12': { name: 'rmnorollback' },
  'T86-13': { name: 'fwdcrash' },
  'T86-14': { name: 'enqdeq FSYNC;DSYNC' },
  'T86-15': { name: 'enqdeq FDATASYNC;DSYNC', noMeaning: ONE_SYNC },
  'T86-16': { name: 'errorq' },
  'T86-17': { name: 'abortrules' },
  'T86-18': { name: 'crashloop' },
  'T86-19': { name: 'loadprep' },
  'T86-20': { name: 'diskfull' },
  'T86-21': { name: 'tmsrvdiskerr' },
  'T86-22': { name: 'commit_crash' },
  'T86-23': { name: 'badmsg' },
  'T86-24': { name: 'tmqrestart' },
  'T86-25': { name: 'tmsrvrestart' },
  'T86-26': { name: 'commit_shut' },
  'T86-27': { name: 'deqwriteerr' },
  'T86-28': { name: 'damaged prepared record' },

  'T67-01': { name: 'queue + database commit/abort' },
  'T67-02': { name: 'transactional forward ok' },
  'T67-03': { name: 'transactional forward fails' },

  'T82-01': { name: 'OK' },
  'T82-02': { name: 'OK2' },
  'T82-03': { name: 'OK1, no reply' },
  'T82-04': { name: 'the service calls tpcommit itself' },
  'T82-05': { name: 'ABORT' },
  'T82-06': { name: 'ABORT2' },
  'T82-07': { name: 'ABORT3' },
  'T82-08': { name: 'FAIL' },
  'T82-09': { name: 'illegal return' },
  'T82-10': { name: 'tm down' },
  'T82-11': { name: 'the service sleeps' },
  'T82-12': { name: 'auto-transaction off' },
  'T82-13': { name: 'conversational variants' },

  'T89-01': { name: 'manual recovery' },
  'T89-02': { name: 'background recovery' },
};

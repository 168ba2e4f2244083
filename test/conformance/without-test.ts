// Rows of the specification that have no test in q/, each with its reason. An entry leaves this table when its test comes.

const NEVER =
  'never answered by this daemon, which has no such state: the table of codes is tested in test/unit/tidy.test.ts';
const ADMINISTRATION = 'an administrative act: comes with qmadmin';
const QSAPI = 'a concept of QSAPI, which this daemon does not have';

export const WITHOUT_TEST: Readonly<Record<string, string>> = {
  '1.3: QMETRAN': NEVER,
  '1.3: QMERELEASE': NEVER,
  '1.3: QMEINVHANDLE': QSAPI,
  '1.3: QMESHARE': ADMINISTRATION,
  '2.3: Failure outside a transaction because of timeout or communication loss':
    'the loss is made by a scripted daemon in test/unit/client-connection.test.ts, and by kills in test/crash',
  '2.7: TPEOS':
    'the daemon names an operating-system error of the queue by QMEOS; the SDK has none of its own',
  '8.2: ipcrm / state CLE': ADMINISTRATION,
  '8.2: abnormal end of one attached process':
    'servers are no processes here: the daemon is one, see crash of host',
  '8.2: qaddext, change of TA_MEMNONPERSIST': ADMINISTRATION,
  '8.2: qspacedestroy': ADMINISTRATION,
  '8.3: Handles': QSAPI,
  '8.4: owners': QSAPI,
  '8.4: TA_MAXPROC': 'servers are no processes here; its share of the actions is tested under 8.3',
  '8.4: exclusive open': ADMINISTRATION,
  '8.7: Messages from releases without expiry can never be given one':
    'there is no such release of this daemon',
};

// What a terminal offers for the beginning of a line.
import { expect, it } from 'vitest';
import { completeAnswer, completeCommand, type Names } from '../../src/qmadmin/completion.ts';
import { COMMANDS } from '../../src/qmadmin/table.ts';

const names: Names = {
  commands: COMMANDS,
  spaces: () => Promise.resolve(['SP1', 'SP 2', 'OTHER']),
  queues: () => Promise.resolve(['REQ', 'RES', 'two words']),
};

it.each<[string, readonly string[], string]>([
  ['qspacec', ['qspacechange ', 'qspacecreate '], 'qspacec'],
  ['  qspacecr', ['qspacecreate '], 'qspacecr'],
  ['QOP', ['qopen '], 'QOP'],
  ['zz', [], 'zz'],
  ['qopen ', ['SP1 ', '"SP 2" ', 'OTHER '], ''],
  ['qopen S', ['SP1 '], 'S'],
  ['qopen "S', ['"SP 2" '], '"S'],
  ['qopen "SP ', ['"SP 2" '], '"SP '],
  ['qo SP1 ', [], ''],
  ['qi RE', ['REQ ', 'RES '], 'RE'],
  ['qdestroy -f -y two', [], 'two'],
  ['qdestroy -fy "t', ['"two words" '], '"t'],
  ['qdestroy -', ['-p', '-f', '-y'], '-'],
  // The value of an option is no argument.
  ['qch -d persist R', ['REQ ', 'RES '], 'R'],
  ['qch -d p', [], 'p'],
  ['qch -e10 -- R', ['REQ ', 'RES '], 'R'],
  ['qcreate R', [], 'R'],
  ['qpause REQ d', ['deq '], 'd'],
  ['verbose o', ['on ', 'off '], 'o'],
  ['help qspacel', ['qspacelist '], 'qspacel'],
  ['nonsense R', [], 'R'],
])('%s', async (line, words, part) => {
  expect(await completeCommand(line, names)).toEqual([words, part]);
});

it('an answer is completed from what it is asked for', async () => {
  expect(await completeAnswer('RE', 'queue', names)).toEqual([['REQ ', 'RES '], 'RE']);
  expect(await completeAnswer('', 'space', names)).toEqual([['SP1 ', '"SP 2" ', 'OTHER '], '']);
  expect(await completeAnswer('f', undefined, names)).toEqual([[], 'f']);
});

#!/usr/bin/env node
// The program `tmboot`, as threshold commands of queues and scripts call it [tmboot(1)]: starts servers inside the running daemon. Application
// servers start by themselves, and what Tuxedo has administrative servers for is part of the daemon.
import { spawn } from 'node:child_process';
import { TpError, type Context } from '../../clients/typescript/index.ts';
import { type BootProgram, type BootWords, complain, runBootProgram, say } from './boot-program.ts';
import { EXIT } from './exit.ts';
import { choose, type Instance, namesServers } from './server-choice.ts';

const PROGRAM: BootProgram = {
  name: 'tmboot',
  description: 'Starts servers of the configuration inside the running daemon: forwarders.',
  options: [
    ['-y', 'start everything without asking'],
    ['-q', 'print no line for each server; means -y'],
    ['-n', 'print what would be started, and start nothing'],
    ['-w', 'begin with all at once, not one after the other'],
    ['-e <command>', 'run this by the shell when something could not be started'],
  ],
  notHere: {
    '-o <sequence>': 'chooses by SEQUENCE, which has no meaning here: choose by -i, -s or -g',
    '-b': 'boots from a backup machine: here every machine has a daemon of its own, started by tmqueue start',
    '-c': 'counts IPC resources, and there are none here: tmqueue check FILE looks at a configuration',
    '-d <level>':
      'shows how processes are started, and none is here: tmqueue server start SRVID says what happens',
    '-m': 'is for the master of several machines: here every machine has a daemon of its own',
  },
  whenDown:
    'tmboot starts servers inside a running daemon: tmqueue start -c UBBCONFIG starts it, with all its servers',
  run: boot,
  question: 'Start all servers?',
};

const WORDS: Readonly<Record<string, string>> = { started: 'started', running: 'is running already' };

async function boot(ctx: Context, words: BootWords): Promise<number> {
  const { instances, administration } = choose(words, await ctx.listServers(), 'min');
  for (const part of administration) say(words, `${part} is part of the daemon, which runs`);
  const isNamed = namesServers(words);
  const one = (instance: Instance): Promise<boolean> => start(ctx, { instance, words, isNamed });
  let allDone = true;
  if (words.w === true) allDone = (await Promise.all(instances.map(one))).every(Boolean);
  else for (const instance of instances) allDone = (await one(instance)) && allDone;
  if (allDone) return EXIT.OK;
  if (words.e !== undefined) await runCommand(words.e);
  return EXIT.REFUSED;
}

/** Whether it runs now, or is none of ours to start and was not named. */
async function start(
  ctx: Context,
  { instance, words, isNamed }: { instance: Instance; words: BootWords; isNamed: boolean },
): Promise<boolean> {
  const { line, srvid, label } = instance;
  const { kind, why } = line;
  if (kind !== 'tmqforward') {
    const text = `${label} ${why}`;
    if (isNamed && kind === 'application')
      return complain('tmboot', `${text}: start its program, and it connects by itself`);
    say(words, text);
    return true;
  }
  if (words.n === true) {
    const isUp = line.running.includes(String(srvid));
    if (!isUp && why !== '') return complain('tmboot', `${label} ${why}`);
    say(words, `${label} ${isUp ? 'is running already' : 'would be started'}`);
    return true;
  }
  try {
    const { state } = await ctx.startServer(srvid, line.group);
    say(words, `${label} ${WORDS[state] ?? state}`);
    return true;
  } catch (error) {
    if (!TpError.is(error) || error.outcomeUnknown) throw error;
    return complain('tmboot', `${label}: ${error.message}`);
  }
}

/** By the shell of the caller; its end is waited for, its exit status is its own [tmboot(1) -e]. */
function runCommand(command: string): Promise<void> {
  const child = spawn(process.env['SHELL'] ?? '/bin/sh', ['-c', command], { stdio: 'inherit' });
  return new Promise((settle) => {
    child.once('error', (error) => {
      complain('tmboot', `-e ${command}: ${error.message}`);
      settle();
    });
    child.once('close', () => settle());
  });
}

process.exitCode = await runBootProgram(PROGRAM, process.argv);

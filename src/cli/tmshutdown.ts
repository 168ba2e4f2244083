#!/usr/bin/env node
// The program `tmshutdown` [tmshutdown(1)]: stops servers inside the running daemon, once their messages are done. The daemon itself, and with it
// everything, is stopped by a signal.
import { TpError, type Context } from '../../clients/typescript/index.ts';
import { type BootProgram, type BootWords, complain, runBootProgram, say } from './boot-program.ts';
import { EXIT } from './exit.ts';
import { choose, type Instance, meansAll, namesServers, RefusedError } from './server-choice.ts';

const STOP_DAEMON =
  'the daemon is stopped by SIGTERM (kill, or systemctl stop), which lets messages under way be done; tmshutdown -S stops the servers in it';

const PROGRAM: BootProgram = {
  name: 'tmshutdown',
  description:
    'Stops servers of the configuration inside the running daemon: forwarders, once their messages are done.',
  options: [
    ['-y', 'do not ask'],
    ['-q', 'print no line for each server; means -y'],
    ['-n', 'print what would be stopped, and stop nothing'],
  ],
  notHere: {
    '-o <sequence>': 'chooses by SEQUENCE, which has no meaning here: choose by -i, -s or -g',
    '-H <lmid>': 'is for the servers of another host: run tmshutdown -S there',
    '-P <lmid>':
      'is for a partitioned machine: here every machine has a daemon of its own; run tmshutdown -S there',
    '-R': 'migrates a group to another machine, which is not done here: move the device, then start a daemon there',
    '-c': 'ends the application although clients are attached, and the daemon goes on here: kill ends it, clients or not',
    '-k <signal>':
      'kills a server process, and forwarders are none: a message under way ends with -t of its forwarder',
    '-w <delay>':
      'kills server processes after a delay, and forwarders are none: a message under way ends with -t of its forwarder',
  },
  whenDown: 'no daemon runs there, so nothing is to be stopped',
  run: shutDown,
  // It is refused, asked or not.
  question: null,
};

const WORDS: Readonly<Record<string, string>> = { stopped: 'stopped', down: 'is down already' };

async function shutDown(ctx: Context, words: BootWords): Promise<number> {
  if (meansAll(words))
    throw new RefusedError(`no servers are named, which means all and the daemon: ${STOP_DAEMON}`);
  const { instances, administration } = choose(words, await ctx.listServers(), 'max');
  let allDone = true;
  // Backwards, as Tuxedo does it [tmshutdown(1)].
  for (const instance of instances.toReversed()) allDone = (await stop(ctx, instance, words)) && allDone;
  for (const part of administration)
    allDone = complain('tmshutdown', `${part} is part of the daemon: ${STOP_DAEMON}`);
  return allDone ? EXIT.OK : EXIT.REFUSED;
}

/** Whether it is down now, or none of ours to stop and was not named. */
async function stop(ctx: Context, { line, srvid, label }: Instance, words: BootWords): Promise<boolean> {
  const { kind, why } = line;
  if (kind !== 'tmqforward') {
    const text = `${label} is not stopped: it ${why}`;
    if (namesServers(words)) return complain('tmshutdown', text);
    say(words, text);
    return true;
  }
  const isUp = line.running.includes(String(srvid));
  if (words.n === true) {
    say(words, `${label} ${isUp ? 'would be stopped' : 'is down already'}`);
    return true;
  }
  // Those between MIN and MAX are mostly down, which is nothing to tell.
  if (!isUp && words.i === undefined && srvid >= line.srvid + line.min) return true;
  try {
    const { state } = await ctx.stopServer(srvid, line.group);
    say(words, `${label} ${WORDS[state] ?? state}`);
    return true;
  } catch (error) {
    if (!TpError.is(error) || error.outcomeUnknown) throw error;
    return complain('tmshutdown', `${label}: ${error.message}`);
  }
}

process.exitCode = await runBootProgram(PROGRAM, process.argv);

// `tmqueue server start|stop`: one server of the daemon's configuration, by its id. Threshold commands call it, as they call tmboot -i.
import { type Command, InvalidArgumentError } from 'commander';
import type { ServerInfo } from '../../clients/typescript/index.ts';
import { withContext, type ConnectOptions } from './connect.ts';
import { EXIT } from './exit.ts';

interface ServerOptions extends ConnectOptions {
  readonly group?: string;
  readonly json?: boolean;
}

/** [SERVERS, spec 6.4] */
const SRVID_MAX = 30_000;

/** What is said of each state. */
const WORDS: Readonly<Record<ServerInfo['state'], string>> = {
  started: 'started',
  running: 'is running already',
  stopped: 'stopped',
  down: 'is down already',
};

export function addServer(tmqueue: Command, done: (work: Promise<number>) => void, connect: Flags): void {
  const server = tmqueue
    .command('server')
    .description('start or stop one server of the configuration that runs inside the daemon: a forwarder');
  const add = (verb: 'start' | 'stop', description: string): void => {
    server
      .command(verb)
      .description(description)
      .argument(
        '<srvid>',
        'its SRVID; the instances of a line with MAX over 1 have the ids that follow',
        parseSrvid,
      )
      .option('-g, --group <group>', 'its SRVGRP, where several groups have a server of this id')
      .option(...connect)
      .option('--json', 'print JSON')
      .action((srvid: number, options: ServerOptions) => done(control(verb, { srvid, options })));
  };
  add('start', 'start it, e.g. after it has ended by -e; done too when it is running already');
  add('stop', 'stop it, once its message is done, until it or the daemon is started again');
}

/** An option's flags and its text. */
type Flags = readonly [flags: string, description: string];

async function control(
  verb: 'start' | 'stop',
  { srvid, options }: { srvid: number; options: ServerOptions },
): Promise<number> {
  return withContext(options, async (ctx) => {
    const { group, json } = options;
    const info = await (verb === 'start' ? ctx.startServer(srvid, group) : ctx.stopServer(srvid, group));
    const line = `${info.name} ${info.group}/${info.srvid} ${WORDS[info.state]}`;
    process.stdout.write(`${json === true ? JSON.stringify(info) : line}\n`);
    return EXIT.OK;
  });
}

function parseSrvid(word: string): number {
  const value = /^\d+$/.test(word) ? Number(word) : 0;
  if (value >= 1 && value <= SRVID_MAX) return value;
  throw new InvalidArgumentError(`It must be a number 1..${SRVID_MAX}.`);
}

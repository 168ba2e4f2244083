// UBBCONFIG text for tests of the running daemon: queue spaces with their TMQUEUE, queues and forwarders, and the few RESOURCES that
// matter. Every device is a folder beside the file. Faulty files are made by `replace` on the text, or written out in the test.

export interface QueueText {
  readonly name: string;
  readonly retries?: number;
  /** Seconds. */
  readonly delay?: number;
  /** More of its line, e.g. `ORDER=lifo EXPIRY=5`. */
  readonly more?: string;
}

export interface ForwarderText {
  readonly queues: readonly string[];
  /** -t, seconds. */
  readonly timeoutS?: number;
  /** -i, seconds. */
  readonly idleS?: number;
  /** More of its CLOPT, e.g. `-d -f 3`. */
  readonly options?: string;
  readonly min?: number;
  /** Default: as min. */
  readonly max?: number;
}

export interface SpaceText {
  readonly name?: string;
  /** Service name; default: the space's. */
  readonly alias?: string;
  readonly errorQueue?: string;
  /** More of its *QSPACES line, e.g. `MSGS=5`. */
  readonly more?: string;
  /** TMQUEUE -t, seconds. */
  readonly timeoutS?: number;
  readonly queues?: readonly (string | QueueText)[];
  readonly forwarders?: readonly ForwarderText[];
}

export interface DomainText {
  readonly maxGtt?: number;
  readonly maxTranTime?: number;
  /** Whole lines for *RESOURCES. */
  readonly resources?: string;
  /** `//host:port`; default: no WSL line. */
  readonly listen?: readonly string[];
  /** Lines of *SERVICES. */
  readonly services?: readonly string[];
  /** Default: one, named QSPACE, with the queue Q. */
  readonly spaces?: readonly SpaceText[];
}

export function ubbText(options: DomainText = {}): string {
  const { maxGtt = 100, maxTranTime = 0, resources = '', listen = [] } = options;
  const spaces = options.spaces ?? [{ queues: ['Q'] }];
  const wsl = listen.map((address) => `-n ${address}`).join(' ');
  return [
    '*RESOURCES\nIPCKEY 52617\nMASTER SITE1\nMODEL SHM',
    `MAXGTT ${maxGtt}\nMAXTRANTIME ${maxTranTime}\n${resources}`,
    '*MACHINES\n"localhost" LMID=SITE1 APPDIR="."',
    '*GROUPS\nAPP LMID=SITE1 GRPNO=99',
    ...spaces.map((space, i) => group(space, i + 1)),
    '*SERVERS',
    ...(wsl === '' ? [] : [`WSL SRVGRP=APP SRVID=1 CLOPT="-A -- ${wsl}"`]),
    ...spaces.map((space, i) => servers(space, i + 1)),
    ...(options.services === undefined ? [] : ['*SERVICES', ...options.services]),
    '*QSPACES',
    ...spaces.map(
      (space, i) => `${nameOf(space)} SRVGRP=G${i + 1}${errorQueueOf(space)} ${space.more ?? ''}`,
    ),
    '*QUEUES',
    ...spaces.flatMap((space) => (space.queues ?? []).map((queue) => queueLine(nameOf(space), queue))),
    '',
  ].join('\n');
}

/** `count` queue names: `stem`01, `stem`02 … */
export function queueNames(stem: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${stem}${String(i + 1).padStart(2, '0')}`);
}

function group(space: SpaceText, number: number): string {
  const openInfo = `TUXEDO/QM:data${number}:${nameOf(space)}`;
  return `G${number} LMID=SITE1 GRPNO=${number} TMSNAME=TMS_QM OPENINFO="${openInfo}"`;
}

function servers(space: SpaceText, number: number): string {
  const { alias = nameOf(space), timeoutS = 30, forwarders = [] } = space;
  const lines = [`TMQUEUE SRVGRP=G${number} SRVID=1 CLOPT="-s ${alias}:TMQUEUE -- -t ${timeoutS}"`];
  for (const [i, forwarder] of forwarders.entries()) {
    const { queues, timeoutS: limit = 30, idleS = 1, options = '', min = 1, max = min } = forwarder;
    const clopt = `-- -q ${queues.join(',')} -t ${limit} -i ${idleS}${options === '' ? '' : ` ${options}`}`;
    const own = `MIN=${min} MAX=${max} REPLYQ=N CLOPT="${clopt}"`;
    lines.push(`TMQFORWARD SRVGRP=G${number} SRVID=${100 * (i + 1)} ${own}`);
  }
  return lines.join('\n');
}

function nameOf(space: SpaceText): string {
  return space.name ?? 'QSPACE';
}

function errorQueueOf(space: SpaceText): string {
  return space.errorQueue === undefined ? '' : ` ERRORQ="${space.errorQueue}"`;
}

function queueLine(space: string, queue: string | QueueText): string {
  const { name, retries = 0, delay = 0, more = '' } = typeof queue === 'string' ? { name: queue } : queue;
  return `"${name.replace(/["\\]/g, '\\$&')}" QSPACE=${space} RETRIES=${retries} DELAY=${delay} ${more}`;
}

// What the benchmark reads from other systems, and what it says when one is not installed.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readOptions } from '../bench/options.ts';
import { readLine } from '../bench/peers/beanstalkd.ts';
import { hasModule, loadModule, missingOf } from '../bench/peers/modules.ts';
import { Pipe, type ReadAnswer } from '../bench/peers/pipe.ts';
import { Program } from '../bench/peers/program.ts';
import { openRedis, readResp } from '../bench/peers/resp.ts';
import { missingPeers } from '../bench/peers/run.ts';
import { eventually } from '../support/in-process.ts';
import { tempDir } from '../support/temp-dir.ts';

/** What is read when no more than the first so many bytes have arrived, for every such number. */
function whileIncomplete<A>(read: ReadAnswer<A>, text: string): (A | undefined)[] {
  const bytes = Buffer.from(text, 'latin1');
  return Array.from({ length: bytes.length }, (_, n) => read(bytes.subarray(0, n), 0)?.answer);
}

describe('RESP', () => {
  test.each([
    ['+OK\r\n', Buffer.from('OK')],
    [':42\r\n', 42],
    ['$-1\r\n', null],
    ['*-1\r\n', null],
    ['$4\r\na\r\nb\r\n', Buffer.from('a\r\nb')],
    ['*2\r\n$1\r\nx\r\n*1\r\n:7\r\n', [Buffer.from('x'), [7]]],
  ])('%j', (text, value) => {
    const found = readResp(Buffer.from(text), 0);
    expect(found).toEqual({ answer: value, end: text.length });
    expect(whileIncomplete(readResp, text).every((answer) => answer === undefined)).toBe(true);
  });

  test('an error is a value, and thrown only to who asked', async () => {
    expect(readResp(Buffer.from('-ERR no\r\n'), 0)?.answer).toEqual(new Error('ERR no'));
    const port = await answering('-ERR no\r\n+PONG\r\n');
    const redis = await openRedis(port);
    const [first, second] = await Promise.allSettled([redis.ask('X'), redis.ask('PING')]);
    redis.close();
    expect(first).toMatchObject({ status: 'rejected', reason: new Error('ERR no') });
    expect(second).toMatchObject({ status: 'fulfilled', value: Buffer.from('PONG') });
  });

  test('what is none is refused', () => {
    expect(() => readResp(Buffer.from('HTTP/1.1 400\r\n'), 0)).toThrow('this is not RESP: HTTP/1.1 400');
  });
});

describe('beanstalkd', () => {
  test.each([
    ['INSERTED 7\r\n', ['INSERTED', '7'], ''],
    ['RESERVED 7 4\r\na\r\nb\r\n', ['RESERVED', '7', '4'], 'a\r\nb'],
  ])('%j', (text, words, body) => {
    const found = readLine(Buffer.from(text), 0);
    expect(found).toEqual({ answer: { words, body: Buffer.from(body) }, end: text.length });
    expect(whileIncomplete(readLine, text).every((answer) => answer === undefined)).toBe(true);
  });
});

test('answers come in the order of asking, however the bytes are cut', async () => {
  const port = await answering('A 1\r\nRESERVED 2 2\r\nhi\r\nC 3\r\n', 3);
  const pipe = await Pipe.open(port, readLine);
  const answers = await Promise.all([pipe.ask('a'), pipe.ask('b', Buffer.from('c')), pipe.ask('d')]);
  pipe.close();
  expect(answers.map(({ words }) => words[1])).toEqual(['1', '2', '3']);
  expect(answers[1]?.body.toString()).toBe('hi');
});

describe('what is not installed', () => {
  test('is named, with how to install it', () => {
    const dir = tempDir();
    const [line] = missingPeers(['bullmq'], dir);
    expect(line).toMatch(
      /^--peer bullmq: .*the package bullmq and the package ioredis not found\. To install: /,
    );
    expect(line).toContain('npm install bullmq ioredis');
  });

  test('is found in the folder that is given', () => {
    const dir = tempDir();
    const folder = join(dir, 'node_modules', 'amqplib');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'index.js'), 'exports.found = 1;');
    expect(hasModule('amqplib', dir)).toBe(true);
    expect(loadModule('amqplib', dir)).toEqual({ found: 1 });
    expect(missingOf({ one: true, two: false, three: false })).toBe('two and three');
  });

  test('--peer', () => {
    expect(readOptions(['--peer', 'redis,beanstalkd'])).toMatchObject({ peers: ['beanstalkd', 'redis'] });
    expect(readOptions(['--peer', 'kafka'])).toMatch(/^--peer: kafka is none of beanstalkd, redis/);
  });
});

describe('a program', () => {
  test('that ends before it answers says why', async () => {
    const started = Program.start({
      program: process.execPath,
      args: ['-e', 'console.error("no such thing"); process.exit(3)'],
      isReady: () => Promise.resolve(false),
    });
    await expect(started).rejects.toThrow(/did not start:\nno such thing/);
  });

  test('ends with all that it started', async () => {
    const file = join(tempDir(), 'pid');
    const child = 'setTimeout(() => {}, 10_000)';
    const script = `const { pid } = require('node:child_process').spawn(process.execPath, ['-e', '${child}']);
      require('node:fs').writeFileSync(${JSON.stringify(file)}, pid + ' '); ${child}`;
    const isReady = (): Promise<boolean> => Promise.resolve(readFileSync(file, 'utf8').endsWith(' '));
    const program = await Program.start({ program: process.execPath, args: ['-e', script], isReady });
    const grandchild = Number(readFileSync(file, 'utf8'));
    expect(hasEnded(grandchild)).toBe(false);
    await program.crash();
    await eventually(() => hasEnded(grandchild));
  });
});

/** Whether the process is gone, or only waits for its parent to notice. */
function hasEnded(pid: number): boolean {
  const stat = existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/stat`, 'latin1') : '';
  return stat === '' || stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
}

/** A server that sends a text, so many bytes at a time, to whoever connects; answers with its port. */
async function answering(text: string, step = text.length): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      for (let at = 0; at < text.length; at += step) socket.write(text.slice(at, at + step));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

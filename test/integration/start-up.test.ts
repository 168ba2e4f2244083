// `tmqueue start` as a process: configurations that it refuses and how it says so, the choice of the machine, the ready line [DESIGN 2,
// 11; README; C69]. Addresses, the lock and signals are in addresses.test.ts and process-life.test.ts.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tpinit } from '../../clients/typescript/index.ts';
import { type DomainText, ubbText } from '../support/ubb-text.ts';
import { CliProcess, folderWith, startCli, startToEnd } from './cli-process.ts';
import { drain, put } from './helpers.ts';

const LISTEN = ['--listen', '127.0.0.1:0'];
const text = (options: DomainText = {}): string => ubbText({ spaces: [{ queues: ['Q'] }], ...options });

/** `file:line:column` of the first place of `word` in a text. */
function placeOf(config: string, content: string, word: string): string {
  const line = content.split('\n').findIndex((one) => one.includes(word));
  return `${config}:${line + 1}:`;
}

describe('a faulty configuration', () => {
  it('lists all its faults with file, line and column, starts nothing, and ends with 1', async () => {
    const content = text()
      .replace('MAXGTT 100', 'MAXGTT lots')
      .replace('SRVGRP=G1 SRVID=1', 'SRVGRP=G9 SRVID=1')
      .replace('RETRIES=0', 'RETRIES=-1');
    const { config, dir } = folderWith(content);
    const { code, stdout, stderr } = await startToEnd('-c', config, ...LISTEN);
    expect([code, stdout]).toEqual([1, '']);
    for (const word of ['MAXGTT lots', 'SRVGRP=G9', 'RETRIES=-1']) {
      expect(stderr).toContain(placeOf(config, content, word));
    }
    expect(stderr).toMatch(/ubbconfig:\d+:\d+: .*legal/);
    expect(readdirSync(dir)).toEqual(['ubbconfig']);
  });

  it.each<[string, (content: string) => string, string]>([
    ['a macro that nobody filled', (t) => t.replace('data1:', '@DEVICE@:'), '@DEVICE@'],
    ['a quote that is never closed', (t) => t.replace('APPDIR="."', 'APPDIR=".'), 'APPDIR'],
    ['KEY=VALUE in *RESOURCES', (t) => t.replace('MODEL SHM', 'MODEL=SHM'), 'MODEL'],
    ['MIN above MAX', (t) => t.replace('CLOPT="-s', 'MIN=3 MAX=2 CLOPT="-s'), 'MIN'],
  ])('%s: exit 1 and its line', async (_name, change, word) => {
    const content = change(text());
    const { config } = folderWith(content);
    const { code, stderr } = await startToEnd('-c', config, ...LISTEN);
    expect([code, stderr.includes(placeOf(config, content, word))]).toEqual([1, true]);
  });

  it('that cannot be read: exit 1 and its name', async () => {
    const { code, stderr } = await startToEnd('-c', '/no/such/file', ...LISTEN);
    expect([code, stderr.includes('/no/such/file')]).toEqual([1, true]);
  });

  it('with a space that was never created, and is not declared: exit 1, and how to create it', async () => {
    const { config } = folderWith(text().replace(/\*QSPACES[^]*$/, ''));
    const { code, stderr } = await startToEnd('-c', config, ...LISTEN);
    expect([code, stderr.includes('QSPACE'), stderr.includes('qmadmin')]).toEqual([1, true, true]);
  });
});

describe('what this release does not serve', () => {
  it('is named with file, line and column, all of it in one run, exit 1', async () => {
    const content = text({ resources: 'SECURITY APP_PW\n', spaces: [{ queues: ['Q'] }] }).replace(
      /-s \S+:TMQUEUE/,
      '-s @names',
    );
    const { config } = folderWith(content);
    const { code, stdout, stderr } = await startToEnd('-c', config, ...LISTEN);
    expect([code, stdout]).toEqual([1, '']);
    const lines = stderr.split('\n').filter((line) => line.includes('not yet supported'));
    const words = ['SECURITY', '-s @file'];
    for (const word of words) {
      expect([word, lines.some((line) => line.includes(word))]).toEqual([word, true]);
    }
    expect(lines.every((line) => /ubbconfig:\d+:\d+: not yet supported/.test(line))).toBe(true);
  });
});

describe('which machine', () => {
  it('an LMID that the file does not have: exit 1, with those it has', async () => {
    const { config } = folderWith(text());
    const { code, stderr } = await startToEnd('-c', config, '--lmid', 'NOWHERE', ...LISTEN);
    expect([code, stderr.includes('NOWHERE'), stderr.includes('SITE1')]).toEqual([1, true, true]);
  });

  it('of several none is this host: exit 1 and --lmid; with it the daemon starts', async () => {
    const two = text()
      .replace('"localhost" LMID', '"no-host-a" LMID')
      .replace('*GROUPS', '"no-host-b" LMID=SITE2 APPDIR="."\n*GROUPS')
      .replace('MODEL SHM', 'MODEL MP');
    const { config } = folderWith(two);
    const { code, stderr } = await startToEnd('-c', config, ...LISTEN);
    expect([code, stderr.includes('--lmid')]).toEqual([1, true]);
    const cli = await startCli(config, '--lmid', 'SITE1', ...LISTEN);
    expect(cli.port).toBeGreaterThan(0);
  });
});

describe('the ready line', () => {
  it('is one line of JSON with address and pid, and comes when requests succeed (C69)', async () => {
    const { config } = folderWith(text());
    const cli = new CliProcess(['start', '-c', config, '--json', ...LISTEN]);
    const ready = JSON.parse(await cli.ready()) as Record<string, unknown>;
    expect(ready).toMatchObject({ ready: true, pid: cli.child.pid });
    const ctx = await tpinit({ address: String(ready['address']) });
    await put(ctx, 'Q', 'x');
    expect(await drain(ctx, 'Q')).toEqual(['x']);
    await ctx.tpterm();
    cli.signal('SIGTERM');
    const { code, stdout } = await cli.exit;
    expect([code, stdout.trim().split('\n')]).toEqual([0, [JSON.stringify(ready)]]);
  });

  it('ubbconfig.example starts unchanged, and says where', async () => {
    const example = join(import.meta.dirname, '../../ubbconfig.example');
    const { config } = folderWith(readFileSync(example, 'utf8'));
    const cli = new CliProcess(['start', '-c', config, ...LISTEN]);
    expect(await cli.ready()).toMatch(/\/\/127\.0\.0\.1:\d+/);
  });
});

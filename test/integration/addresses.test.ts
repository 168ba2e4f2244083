// Where a daemon listens: forms of --listen, several addresses, addresses beyond loopback, a port that is taken [DESIGN 2, 10; README].
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { tpinit } from '../../clients/typescript/index.ts';
import { type DomainText, ubbText } from '../support/ubb-text.ts';
import { CliProcess, folderWith, startCli, startToEnd } from './cli-process.ts';

const LISTEN = ['--listen', '127.0.0.1:0'];
const text = (options: DomainText = {}): string => ubbText({ spaces: [{ queues: ['Q'] }], ...options });

describe('addresses', () => {
  it.each([
    ['//host:port', ['--listen', '//localhost:0'], ['127.0.0.1|[::1]|localhost']],
    [
      'HOST:PORT and IPv6, two of them',
      ['--listen', '127.0.0.1:0', '--listen', '//[::1]:0'],
      ['127.0.0.1', '[::1]'],
    ],
  ])('--listen as %s', async (_name, args, hosts) => {
    const { config } = folderWith(text());
    const cli = new CliProcess(['start', '-c', config, ...args]);
    const addresses = (await cli.ready()).match(/\/\/\S+:\d+/g) ?? [];
    expect(addresses).toHaveLength(hosts.length);
    for (const [i, address] of addresses.entries()) {
      expect(hosts[i]?.split('|')).toContain(address.slice(2, address.lastIndexOf(':')));
      const ctx = await tpinit({ address });
      await ctx.tpterm();
    }
  });

  it.each(['nonsense', '127.0.0.1', '127.0.0.1:65536', ''])(
    '--listen %s is wrong usage: 64',
    async (address) => {
      const { config } = folderWith(text());
      const { code, stdout } = await startToEnd('-c', config, '--listen', address);
      expect([code, stdout]).toEqual([64, '']);
    },
  );

  it.each<[string, string[], string[]]>([
    ['by --listen', [], ['--listen', '0.0.0.0:0']],
    ['by --listen, IPv6', [], ['--listen', '//[::]:0']],
    ['by WSL', ['//0.0.0.0:65001'], []],
  ])(
    'beyond loopback %s: refused with a sentence, and allowed by --allow-open-network',
    async (_name, listen, args) => {
      const { config } = folderWith(text({ listen }));
      const { code, stdout, stderr } = await startToEnd('-c', config, ...args);
      expect([code, stdout, stderr.includes('--allow-open-network')]).toEqual([1, '', true]);
      if (args.length === 0) return;
      const cli = await startCli(config, '--allow-open-network', ...args);
      expect(cli.port).toBeGreaterThan(0);
    },
  );

  it('a port that is taken: exit 1, the address is named, and the device is free again', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => {
      taken.listen(0, '127.0.0.1', resolve);
    });
    const address = taken.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const { config } = folderWith(text({ listen: [`//127.0.0.1:${port}`] }));
    const { code, stdout, stderr } = await startToEnd('-c', config);
    taken.close();
    expect([code, stdout, stderr.includes(`127.0.0.1:${port}`)]).toEqual([1, '', true]);
    await startCli(config, ...LISTEN);
  });
});

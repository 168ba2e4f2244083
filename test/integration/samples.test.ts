// Every configuration that comes with the package starts, serves each of its queue spaces under each alias, and has every queue that it
// names. What `tmqueue init` writes is one of these texts, see check.test.ts.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { domainOf } from '../support/ubb.ts';
import { daemonForTest } from '../support/in-process.ts';

const ROOT = join(import.meta.dirname, '../..');
const files = [
  'ubbconfig.example',
  ...readdirSync(join(ROOT, 'config/samples')).map((name) => `config/samples/${name}`),
];

it('there is one for each kind of application', () => {
  expect(files).toEqual([
    'ubbconfig.example',
    'config/samples/converted.ubb',
    'config/samples/examples.ubb',
    'config/samples/many-forwarders.ubb',
    'config/samples/request-reply.ubb',
    'config/samples/two-spaces.ubb',
  ]);
});

it.each(files)('%s', async (file) => {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const domain = domainOf(text);
  expect([domain.faults, domain.warnings, domain.notYet, domain.macros]).toEqual([[], [], [], []]);
  const daemon = await daemonForTest(text);
  const ctx = await daemon.join();

  const forwarded = domain.servers.flatMap(({ role }) => (role.kind === 'tmqforward' ? role.queues : []));
  for (const server of domain.servers) {
    if (server.role.kind !== 'tmqueue') continue;
    const space = domain.groups.find((group) => group.name === server.group)?.queueSpace?.space;
    const queues = domain.queues.filter((queue) => queue.space === space).map((queue) => queue.name);
    for (const alias of server.role.aliases) {
      expect((await ctx.stat(alias)).spaces[0]?.queues.map(({ name }) => name).sort()).toEqual(
        queues.toSorted(),
      );
      // A forwarder may take what is on the others.
      for (const queue of queues.filter((name) => !forwarded.includes(name))) {
        await ctx.tpenqueue(alias, queue, null, `to ${queue}`);
        expect((await ctx.tpdequeue(alias, queue, null, null)).data).toBe(`to ${queue}`);
      }
    }
  }
  expect(daemon.log.filter(({ level }) => level !== 'info')).toEqual([]);
});

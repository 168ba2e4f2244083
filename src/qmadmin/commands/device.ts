// The device list: crdl, lidl [spec 5.2, 8.1].
import { printJson, printTable } from '../listing.ts';
import { command } from '../command.ts';
import { freePages, RefusedError } from '../port.ts';
import { devicePath, LONG_MAX, number } from '../values.ts';
import { quoteWord } from '../words.ts';

export const crdl = command<{ device: string; offset: number; size: number }, object>({
  name: 'crdl',
  abbreviations: [],
  summary: 'add an entry to the device list; the first one makes the device',
  arguments: {
    device: { subject: 'device', parse: devicePath },
    offset: { subject: 'offset in pages', parse: number(0, LONG_MAX) },
    size: { subject: 'size in pages', parse: number(1, LONG_MAX) },
  },
  options: {},
  async run(shell, { device, offset, size }) {
    await shell.device.addEntry({ device, offset, pages: size });
    shell.tell(`${quoteWord(device)}: ${size} pages from page ${offset} on are in the device list`);
  },
});

export const lidl = command<{ dlindex?: number }, object>({
  name: 'lidl',
  abbreviations: [],
  summary: 'list the device list: index, device, offset, pages; verbose adds what is taken and free',
  arguments: { dlindex: { subject: 'index', omittable: true, parse: number(0, LONG_MAX) } },
  options: {},
  async run(shell, { dlindex }) {
    const contents = await shell.device.contents();
    const rows = contents.entries.map(({ device, offset, pages }, index) => [
      index,
      { name: device },
      offset,
      pages,
    ]);
    if (dlindex !== undefined && rows[dlindex] === undefined) {
      throw new RefusedError(`the device list has no entry ${dlindex}; it has ${rows.length}`);
    }
    const shown = dlindex === undefined ? rows : rows.slice(dlindex, dlindex + 1);
    printTable(shell, ['INDEX', 'DEVICE', 'OFFSET', 'PAGES'], shown);
    if (!shell.verbose) return;
    if (shell.json) return printJson(shell, { extents: contents.extents, free: freePages(contents) });
    for (const { space, pages } of contents.extents)
      shell.print(`taken by ${quoteWord(space)}: ${pages} pages`);
    shell.print(`free: ${freePages(contents)} pages`);
  },
});

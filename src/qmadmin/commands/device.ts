// The device list: crdl, chdl, dsdl, lidl, livtoc [spec 5.2, 8.1].
import { printJson, printTable } from '../listing.ts';
import { command, FLAG } from '../command.ts';
import { freePages, placedExtents, RefusedError } from '../port.ts';
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

const INDEX = { dlindex: { subject: 'index', parse: number(0, LONG_MAX) } } as const;

export const chdl = command<{ dlindex: number; newdevice: string }, object>({
  name: 'chdl',
  abbreviations: [],
  summary: 'give an entry of the device list another path, to which what was there has been copied',
  arguments: { ...INDEX, newdevice: { subject: 'new device', parse: devicePath } },
  options: {},
  async run(shell, { dlindex, newdevice }) {
    await shell.device.renameEntry(dlindex, newdevice);
    if (dlindex === 0 && newdevice !== shell.device.path) {
      shell.warn(
        `entry 0 is this device: it stays where it is, in ${quoteWord(shell.device.path)}, until you move it`,
      );
    }
    shell.tell(`entry ${dlindex} is now ${quoteWord(newdevice)}`);
  },
});

export const dsdl = command<{ dlindex: number }, { y?: boolean }>({
  name: 'dsdl',
  abbreviations: [],
  summary: 'remove an entry of the device list; number 0 only as the last',
  arguments: INDEX,
  options: { y: FLAG },
  async run(shell, { dlindex }, { y = false }) {
    if (!y && !(await shell.confirm(`remove entry ${dlindex} of the device list`))) return;
    await shell.device.removeEntry(dlindex);
    shell.tell(`entry ${dlindex} was removed`);
  },
});

export const livtoc = command<object, object>({
  name: 'livtoc',
  abbreviations: [],
  summary: 'list which pages of the device list each queue space has',
  arguments: {},
  options: {},
  async run(shell) {
    const contents = await shell.device.contents();
    const rows = placedExtents(contents).map(({ space, index, offset, pages }) => {
      return [{ name: space }, index, { name: contents.entries[index]?.device ?? '' }, offset, pages];
    });
    printTable(shell, ['TABLE', 'INDEX', 'DEVICE', 'OFFSET', 'PAGES'], rows);
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
    const taken = new Map<string, number>();
    for (const { space, pages } of contents.extents) taken.set(space, (taken.get(space) ?? 0) + pages);
    if (shell.json) {
      const extents = [...taken].map(([space, pages]) => ({ space, pages }));
      return printJson(shell, { extents, free: freePages(contents) });
    }
    for (const [space, pages] of taken) shell.print(`taken by ${quoteWord(space)}: ${pages} pages`);
    shell.print(`free: ${freePages(contents)} pages`);
  },
});

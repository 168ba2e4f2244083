// The daemon as `tmqueue start` runs it, on a disk that does as the environment orders. It takes the words that TestDaemon gives.
import { parseArgs } from 'node:util';
import { start } from '../../src/cli/start.ts';
import { type DiskOrders, ORDERS_VARIABLE, OrderedDisk } from './disk-orders.ts';

const { values } = parseArgs({
  allowPositionals: true,
  options: {
    config: { type: 'string', short: 'c', default: 'ubbconfig' },
    listen: { type: 'string' },
    appdir: { type: 'string', default: '.' },
    json: { type: 'boolean' },
  },
});
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by the test that starts this
const orders = JSON.parse(process.env[ORDERS_VARIABLE] ?? '{}') as DiskOrders;
const { segmentBytes } = orders;
process.exitCode = await start({
  config: values.config,
  appdir: values.appdir,
  json: true,
  listen: [{ host: '127.0.0.1', port: 0 }],
  device: {
    io: new OrderedDisk(orders),
    // Small, so that messages are read from the disk too.
    cacheBytes: 1024 * 1024,
    ...(segmentBytes === undefined ? {} : { segmentBytes }),
  },
});

// The defaults of definitions are part of the log's format: FORMAT.md has them, and none ever changes.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { QUEUE_DEFAULTS, SPACE_DEFAULTS } from '../../src/queue/attributes.ts';

const FORMAT = readFileSync(join(import.meta.dirname, '../../src/wal/FORMAT.md'), 'utf8');

test('FORMAT.md has the defaults of a queue and of a space', () => {
  const blocks = [...FORMAT.matchAll(/^```json\n(.*?)^```/gms)].map(
    (found) => JSON.parse(found[1] ?? '') as object,
  );
  expect(blocks).toEqual([QUEUE_DEFAULTS, SPACE_DEFAULTS]);
});

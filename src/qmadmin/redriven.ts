// What came of a redrive, as lines for people: the same from `tmqueue redrive` and from qmadmin.
import type { RedriveCount, RedriveInfo, RedriveItem } from '../../proto/redrive.ts';

const STAYS: Readonly<Record<RedriveCount, string>> = {
  unknown: 'it is not known where they came from; name a queue for them',
  gone: 'it was destroyed; name another queue for them',
  paused: 'it is paused for enqueues',
  noRoom: 'the log has no room',
  here: 'they came from this very queue',
  held: 'transactions hold them',
  missing: 'they are not on the queue',
};
const ENDS: Readonly<Record<RedriveInfo['end'], string>> = {
  done: '',
  limit: '; the limit is reached',
  cancelled: '; it was cancelled',
  destroyed: '; the queue was destroyed meanwhile',
  stopped: '; the daemon stopped',
};

export function redrivenLines(
  redriven: RedriveInfo & { readonly queues: readonly RedriveItem[] },
  shown: { readonly dryRun: boolean; readonly name: (queue: string) => string },
): string[] {
  const { moved, end, queues, more, held, missing } = redriven;
  const lines = [`${shown.dryRun ? 'would move' : 'moved'} ${messages(moved)}${ENDS[end]}`];
  for (const { queue, outcome, count } of queues) {
    if (outcome === 'moved') lines.push(`  ${count} to ${shown.name(queue)}`);
    else
      lines.push(
        `  ${count} ${count === 1 ? 'stays' : 'stay'}${whose(queue, shown.name)}: ${STAYS[outcome]}`,
      );
  }
  const listed = (why: RedriveCount): number =>
    queues.reduce((sum, { outcome, count }) => sum + (outcome === why ? count : 0), 0);
  if (held > listed('held')) lines.push(`  ${held - listed('held')} stay: ${STAYS.held}`);
  if (missing > listed('missing'))
    lines.push(`  ${missing - listed('missing')} of those named: ${STAYS.missing}`);
  if (more) lines.push('  … and more queues');
  return lines;
}

function whose(queue: string, name: (queue: string) => string): string {
  return queue === '' ? '' : ` (${name(queue)})`;
}

function messages(count: number): string {
  return count === 1 ? '1 message' : `${count} messages`;
}

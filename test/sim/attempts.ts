// The rule of retries [spec 2.6]: a message that was rolled back RETRIES + 1 times is on the error queue, so nobody gets it from its own queue
// any more. Told only of stretches in which the daemon lived on, since its end is no attempt. It must not know how calls are made.
import { type Ledger, type Message, placeName, type Take } from './ledger.ts';

/** Everything that was handed out once too often; `retries` by queue. */
export function tooManyAttempts(ledger: Ledger, retries: ReadonlyMap<string, number>): string[] {
  return [...ledger.messages.values()].flatMap((message) => {
    const most = retries.get(placeName(message.place));
    return most === undefined ? [] : judge(ledger, message, most);
  });
}

function judge(ledger: Ledger, message: Message, retries: number): string[] {
  const own = placeName(message.place);
  const takes = message.takes.filter((take) => take.from === own).sort((a, b) => a.askedTick - b.askedTick);
  for (let i = retries + 1; i < takes.length; i++) {
    const run = takes.slice(i - retries - 1, i);
    const last = takes[i] as Take;
    const first = run[0] as Take;
    const isUndone = run.every(
      (take) => take.unit?.outcome === 'rolled back' && take.unit.endTick < last.askedTick,
    );
    const isWhole = !ledger.ends.some((end) => end.toTick > first.askedTick && end.fromTick < last.tick);
    if (isUndone && isWhole) {
      return [
        `${message.key}: was rolled back ${retries + 1} times and came from ${own} again, where RETRIES is ${retries}`,
      ];
    }
  }
  return [];
}

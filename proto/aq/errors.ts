// AQ errors [oracle-aq 15]: what each number means in our words, and the nearest that /Q has.
import { QME, TPERRNO } from '../codes.ts';

/** Number → text. */
export const AQ_ERRORS: ReadonlyMap<number, string> = new Map([
  [25_200, 'no queue is named'],
  [25_205, 'there is no such queue'],
  [25_228, 'no message could be dequeued in the time given'],
]);

/** What the number means, for people. */
export function aqErrorText(number: number): string {
  return AQ_ERRORS.get(number) ?? `AQ error ${number}`;
}

const NEAREST: ReadonlyMap<number, number> = new Map<number, number>([
  [25_228, QME.QMENOMSG],
  [25_254, QME.QMENOMSG],
  [25_235, QME.QMENOMSG],
  [25_263, QME.QMENOMSG],
  [25_205, QME.QMEBADQUEUE],
  [24_010, QME.QMEBADQUEUE],
  [25_210, QME.QMEBADMSGID],
  [25_207, QME.QMESHARE],
  [25_226, QME.QMESHARE],
  [25_307, QME.QMENOSPACE],
]);

/** The nearest /Q result [oracle-aq 14]. */
export function aqFailure(number: number): { readonly tperrno: number; readonly diagnostic: number } {
  if (number === 25_215) return { tperrno: TPERRNO.TPEOTYPE, diagnostic: QME.OK };
  return { tperrno: TPERRNO.TPEDIAGNOSTIC, diagnostic: NEAREST.get(number) ?? QME.QMEINVAL };
}

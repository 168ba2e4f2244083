// Why a message is in an exception queue, in the words of AQ's views [oracle-aq 6.3].
import { REASON } from '../queue/provenance.ts';

const NAMES: ReadonlyMap<number, string> = new Map([
  [REASON.MAX_RETRIES, 'MAX_RETRY_EXCEEDED'],
  [REASON.TIME_EXPIRATION, 'TIME_EXPIRATION'],
  [REASON.PROPAGATION, 'PROPAGATION_FAILURE'],
  [REASON.DISCONNECT, 'CONNECTIONS_LOST'],
]);

export function reasonName(reason: number): string {
  return NAMES.get(reason) ?? '';
}

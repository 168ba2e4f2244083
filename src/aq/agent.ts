// Agents as requests name them [oracle-aq 2.1], and the rules for their three parts.
import { AQ_LIMIT } from '../../proto/aq/limits.ts';
import type { AqAgent } from '../queue/attributes.ts';
import { utf8Bytes } from '../queue/words.ts';
import { aqError, type AqRefused } from './asked.ts';

const ADDRESS = /^[^@]+(@[^@]+)?$/;
const RESERVED_PREFIX = 'AQ$_';

/** What is wrong with it; null: nothing. */
export function agentFault({ name, address, protocol }: AqAgent): AqRefused | null {
  const shown = JSON.stringify(name);
  if (name === '' && address === '') return aqError(24_047, 'an agent has a name, an address, or both');
  if (utf8Bytes(name) > AQ_LIMIT.AGENT_NAME || /\p{Cc}/u.test(name))
    return aqError(
      24_047,
      `agent ${shown}: a name has at most ${AQ_LIMIT.AGENT_NAME} bytes, and no control characters`,
    );
  if (name.toUpperCase().startsWith(RESERVED_PREFIX)) return aqError(24_049);
  if (!Number.isInteger(protocol) || protocol < 0 || protocol > AQ_LIMIT.PROTOCOL_MAX)
    return aqError(24_046, `agent ${shown}: a protocol is 0, or 128 to ${AQ_LIMIT.PROTOCOL_MAX}`);
  if (protocol > 0 && protocol <= AQ_LIMIT.RESERVED_PROTOCOL) return aqError(24_046);
  if (address === '') return protocol === 0 ? null : aqError(24_075);
  // Of other protocols AQ does not look at it [oracle-aq 1.3].
  const isWellFormed = protocol !== 0 || ADDRESS.test(address);
  return isWellFormed && utf8Bytes(address) <= AQ_LIMIT.ADDRESS ? null : aqError(24_045);
}

/** `name`, `name at address`, as people read it. */
export function agentText({ name, address }: AqAgent): string {
  if (address === '') return name;
  return name === '' ? address : `${name} at ${address}`;
}

// Which addresses other machines can reach: listening there without TLS and SECURITY must be asked for in so many words [DESIGN 10].
import type { Endpoint } from '../net/network.ts';

/** Throws a sentence for the operator unless the address is this machine's alone or it was allowed. */
export function checkReach({ host, port }: Endpoint, isAllowed: boolean): void {
  if (isAllowed || isLoopback(host)) return;
  throw new Error(
    `//${host}:${port} can be reached from other machines, and there is no TLS and no SECURITY: ` +
      'listen on 127.0.0.1, or say --allow-open-network',
  );
}

export function isAnyHost(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

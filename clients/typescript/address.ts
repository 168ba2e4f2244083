// Where the daemon listens: `//host:port`, `host:port`, or `0x0002` with port and IPv4 address in hexadecimal digits, as /WS has it; several of
// them separated by commas, tried in order. Owns the default: WSNADDR, then //127.0.0.1:7110. Must not open sockets.
import { DEFAULT_ADDRESS, TPERRNO } from '../../proto/codes.ts';
import { TpError } from './error.ts';

export interface Address {
  readonly host: string;
  /** 1..65535 */
  readonly port: number;
}

const HEX_ADDRESS = /^0x0002([0-9a-f]{4})([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})0*$/i;

/** The addresses in `text`; without text those in the environment variable WSNADDR; without that the default. TPEINVAL: not an address. */
export function parseAddresses(text: string | undefined): Address[] {
  const given = text ?? process.env['WSNADDR'];
  if (given === undefined || given.trim() === '') return [DEFAULT_ADDRESS];
  return given.split(',').map((part) => parseAddress(part.trim()));
}

/** One address; an IPv6 host is in brackets. The port may be left out. */
export function parseAddress(text: string): Address {
  const [, hexPort, ...bytes] = HEX_ADDRESS.exec(text) ?? [];
  const host4 = bytes.map((byte) => parseInt(byte, 16)).join('.');
  return parsed(hexPort === undefined ? text : `//${host4}:${parseInt(hexPort, 16)}`, text);
}

function parsed(plain: string, text: string): Address {
  const match = /^(?:\/\/)?(?:\[([^\]]+)\]|([^:[\]/\s]+))(?::(\d{1,5}))?$/.exec(plain);
  const host = match?.[1] ?? match?.[2];
  const port = match?.[3] === undefined ? DEFAULT_ADDRESS.port : Number(match[3]);
  if (host !== undefined && port >= 1 && port <= 65_535) return { host, port };
  throw new TpError({
    tperrno: TPERRNO.TPEINVAL,
    operation: 'tpinit',
    text: `address ${JSON.stringify(text)} is not //host:port, nor 0x0002 with port and IPv4 address in hexadecimal digits`,
  });
}

/** For messages: `//host:port`. */
export function formatAddress(address: Address): string {
  return address.host.includes(':')
    ? `//[${address.host}]:${address.port}`
    : `//${address.host}:${address.port}`;
}

// Network addresses as UBBCONFIG writes them: `//host:port`, `//[v6]:port`, and the hexadecimal socket address `0x0002PPPPAAAAAAAA`
// [spec 6.3, ubb-syntax]. Owns that notation; must not know who listens.

export interface Address {
  readonly host: string;
  readonly port: number;
}

export const ADDRESS_LEGAL =
  '//host:port with a port 0..65535, or 0x0002 followed by port and IPv4 address in hex';

/** AF_INET in a hexadecimal address, then two bytes of port and four of address; zeros may follow. */
const HEX_ADDRESS = /^0x0002([0-9a-f]{4})([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})0*$/i;
const HOST_ADDRESS = /^\/\/(?:\[([0-9A-Fa-f:.%]+)\]|([^\s:/[\]]+)):([0-9]{1,5})$/;

export function parseAddress(text: string): Address | undefined {
  const hex = HEX_ADDRESS.exec(text);
  if (hex !== null) {
    const [port = 0, ...bytes] = hex.slice(1).map((digits) => Number.parseInt(digits, 16));
    return { host: bytes.join('.'), port };
  }
  const match = HOST_ADDRESS.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) return undefined;
  return { host: match[1] ?? match[2] ?? '', port };
}

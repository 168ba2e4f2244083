// TpError and addresses: what two copies of the package agree on, and what is an address.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { parseAddress, parseAddresses } from '../../clients/typescript/address.ts';
import * as first from '../../clients/typescript/error.ts';
import { QME, TPERRNO } from '../../proto/codes.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

describe('TpError', () => {
  it('is recognised by another copy of the package', async () => {
    vi.resetModules();
    const second = await import('../../clients/typescript/error.ts');
    expect(second.TpError).not.toBe(first.TpError);
    const error = new second.TpError({ tperrno: TPERRNO.TPETIME, operation: 'tpcall', text: 'late' });
    expect(error).toBeInstanceOf(first.TpError);
    expect(first.TpError.is(error)).toBe(true);
    const failure = new second.ServiceFailure(1, 'x');
    expect(failure).toBeInstanceOf(first.ServiceFailure);
    expect(failure).not.toBeInstanceOf(first.TpError);
  });

  it.each([null, undefined, 1, 'TpError', {}, new Error('x')])('%j is none', (value) => {
    expect(first.TpError.is(value)).toBe(false);
    expect(first.ServiceFailure.is(value)).toBe(false);
  });

  it('begins with the codes', () => {
    const cause = new Error('below');
    const error = new first.TpError({
      tperrno: TPERRNO.TPEDIAGNOSTIC,
      diagnostic: QME.QMEBADQUEUE,
      operation: 'tpenqueue',
      text: 'no queue Q',
      cause,
    });
    expect(error.message).toBe('TPEDIAGNOSTIC/QMEBADQUEUE: tpenqueue: no queue Q');
    expect([error.name, error.cause, error.outcomeUnknown, error instanceof Error]).toEqual([
      'TpError',
      cause,
      false,
      true,
    ]);
  });
});

describe('addresses', () => {
  it.each([
    ['//host:7110', 'host', 7110],
    ['host:1', 'host', 1],
    ['host', 'host', 7110],
    ['//10.0.0.1', '10.0.0.1', 7110],
    ['//[::1]:7111', '::1', 7111],
    ['0x00021bc67f000001', '127.0.0.1', 7110],
    ['0X0002FFFFC0A80102000000000000', '192.168.1.2', 65_535],
  ])('%s', (text, host, port) => {
    expect(parseAddress(text)).toEqual({ host, port });
  });

  it.each([
    '',
    '//',
    '//:7110',
    '//host:0',
    '//host:65536',
    '//host:x',
    '//a b:1',
    'http://x:1',
    '::1',
    '0x000200007f000001',
  ])('%j is TPEINVAL', (text) => {
    expect(() => parseAddress(text)).toThrow(/^TPEINVAL/);
  });

  it('come from the argument, from WSNADDR, or are the default', () => {
    vi.stubEnv('WSNADDR', '//a:1,//b:2');
    expect(parseAddresses('//c:3')).toEqual([{ host: 'c', port: 3 }]);
    expect(parseAddresses(undefined)).toEqual([
      { host: 'a', port: 1 },
      { host: 'b', port: 2 },
    ]);
    vi.stubEnv('WSNADDR', '');
    expect(parseAddresses(undefined)).toEqual([{ host: '127.0.0.1', port: 7110 }]);
  });
});

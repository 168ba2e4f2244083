// tpstrerror and tpstrerrordetail [spec 3.7]: the codes in words. Invariant: every tperrno and every detail code has a text of its own.
import { TPERRNO } from '../../proto/codes.ts';

/** Error-detail codes [spec 2.8]. */
export const TPED = {
  TPED_SVCTIMEOUT: 1,
  TPED_TERM: 2,
  TPED_NOUNSOLHANDLER: 3,
  TPED_NOCLIENT: 4,
  TPED_DOMAINUNREACHABLE: 5,
  TPED_CLIENTDISCONNECTED: 6,
  TPED_PERM: 7,
  TPED_OTS_INTERNAL: 8,
  TPED_INVALID_CERTIFICATE: 9,
  TPED_INVALID_SIGNATURE: 10,
  TPED_DECRYPTION_FAILURE: 11,
  TPED_INVALIDCONTEXT: 12,
  TPED_INVALID_XA_TRANSACTION: 13,
  TPED_MBCONV: 14,
  TPED_DECUTCM_FAILURE: 15,
  TPED_GROUP_FORBIDDEN: 16,
} as const;

const ERRORS: Readonly<Record<number, string>> = {
  [TPERRNO.TPMINVAL]: 'no error',
  [TPERRNO.TPEABORT]: 'TPEABORT: the transaction was rolled back',
  [TPERRNO.TPEBADDESC]: 'TPEBADDESC: the descriptor is not valid',
  [TPERRNO.TPEBLOCK]: 'TPEBLOCK: the call would have to wait',
  [TPERRNO.TPEINVAL]: 'TPEINVAL: an argument is not valid',
  [TPERRNO.TPELIMIT]: 'TPELIMIT: a limit is reached',
  [TPERRNO.TPENOENT]: 'TPENOENT: there is no such service, queue space, client or type',
  [TPERRNO.TPEOS]: 'TPEOS: the operating system refused something',
  [TPERRNO.TPEPERM]: 'TPEPERM: not permitted',
  [TPERRNO.TPEPROTO]: 'TPEPROTO: the call may not be made now',
  [TPERRNO.TPESVCERR]: 'TPESVCERR: the service or its server broke',
  [TPERRNO.TPESVCFAIL]: 'TPESVCFAIL: the service said that it failed',
  [TPERRNO.TPESYSTEM]: 'TPESYSTEM: the system failed',
  [TPERRNO.TPETIME]: 'TPETIME: the time is over',
  [TPERRNO.TPETRAN]: 'TPETRAN: the transaction does not allow it',
  [TPERRNO.TPGOTSIG]: 'TPGOTSIG: cancelled by the caller',
  [TPERRNO.TPERMERR]: 'TPERMERR: the resource manager failed',
  [TPERRNO.TPEITYPE]: 'TPEITYPE: the service does not take data of this type',
  [TPERRNO.TPEOTYPE]: 'TPEOTYPE: the data that came is of another type than the caller takes',
  [TPERRNO.TPERELEASE]: 'TPERELEASE: the releases of client and daemon do not fit',
  [TPERRNO.TPEHAZARD]: 'TPEHAZARD: the transaction may have been completed heuristically',
  [TPERRNO.TPEHEURISTIC]: 'TPEHEURISTIC: the transaction was completed heuristically, not as decided',
  [TPERRNO.TPEEVENT]: 'TPEEVENT: an event of a conversation waits',
  [TPERRNO.TPEMATCH]: 'TPEMATCH: the name is taken by another function',
  [TPERRNO.TPEDIAGNOSTIC]: 'TPEDIAGNOSTIC: the reason is in the diagnostic',
  [TPERRNO.TPEMIB]: 'TPEMIB: an administrative request failed',
};

const DETAILS: Readonly<Record<number, string>> = {
  [TPED.TPED_SVCTIMEOUT]: 'TPED_SVCTIMEOUT: the server was ended because the service took too long',
  [TPED.TPED_TERM]: 'TPED_TERM: the connection or the server ended',
  [TPED.TPED_NOUNSOLHANDLER]: 'TPED_NOUNSOLHANDLER: the client has no handler for unsolicited messages',
  [TPED.TPED_NOCLIENT]: 'TPED_NOCLIENT: there is no such client',
  [TPED.TPED_DOMAINUNREACHABLE]: 'TPED_DOMAINUNREACHABLE: the other domain cannot be reached',
  [TPED.TPED_CLIENTDISCONNECTED]: 'TPED_CLIENTDISCONNECTED: the client is not connected any more',
  [TPED.TPED_PERM]: 'TPED_PERM: not permitted',
  [TPED.TPED_OTS_INTERNAL]: 'TPED_OTS_INTERNAL: the object transaction service failed',
  [TPED.TPED_INVALID_CERTIFICATE]: 'TPED_INVALID_CERTIFICATE: a certificate is not valid',
  [TPED.TPED_INVALID_SIGNATURE]: 'TPED_INVALID_SIGNATURE: a signature is not valid',
  [TPED.TPED_DECRYPTION_FAILURE]: 'TPED_DECRYPTION_FAILURE: decrypting failed',
  [TPED.TPED_INVALIDCONTEXT]: 'TPED_INVALIDCONTEXT: the context is not valid any more',
  [TPED.TPED_INVALID_XA_TRANSACTION]:
    'TPED_INVALID_XA_TRANSACTION: the transaction is not one that XA allows here',
  [TPED.TPED_MBCONV]: 'TPED_MBCONV: converting the encoding of a text failed',
  [TPED.TPED_DECUTCM_FAILURE]: 'TPED_DECUTCM_FAILURE: the transaction of a gateway failed',
  [TPED.TPED_GROUP_FORBIDDEN]: 'TPED_GROUP_FORBIDDEN: the group may not be used',
};

/** The text of a tperrno; undefined: there is no such code. */
export function tpstrerror(tperrno: number): string | undefined {
  return ERRORS[tperrno];
}

/** The text of an error-detail code; undefined: there is no such code. */
export function tpstrerrordetail(detail: number): string | undefined {
  return DETAILS[detail];
}

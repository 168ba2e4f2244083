// qmadmin's way to the daemon that holds its device: one context of the SDK, without reconnecting; what it rejects with becomes what qmadmin
// tells its operator.
import { QME, TPERRNO } from '../../proto/codes.ts';
import { TpError, tpinit } from '../../clients/typescript/index.ts';
import { RefusedError } from '../qmadmin/port.ts';
import { type Link, LostError } from '../qmadmin/remote/link.ts';

export async function connectTo(address: string): Promise<Link> {
  const ctx = await tpinit({ address, cltname: 'qmadmin', reconnect: false, onError: () => {} });
  return {
    async ask(verb, question) {
      try {
        return await ctx.administer(verb, question);
      } catch (error) {
        throw refusalOf(error);
      }
    },
    close: () => ctx.tpterm(),
  };
}

function refusalOf(error: unknown): unknown {
  if (!TpError.is(error)) return error;
  const { tperrno, diagnostic, text, outcomeUnknown } = error;
  // Nothing else of an administrator's is answered so; and a daemon that stops answers it before it goes.
  if (tperrno === TPERRNO.TPESYSTEM) return new LostError(text, outcomeUnknown);
  const isAbsent = diagnostic === QME.QMEBADQUEUE;
  return new RefusedError(text, { cause: error, refusal: isAbsent ? 'absent' : 'failed' });
}

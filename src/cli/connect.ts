// How a command reaches the daemon: one context for its short life. Not reachable is its own outcome (exit code 69).
import { TpError, TPERRNO, tpinit, type Context } from '../../clients/typescript/index.ts';
import { UnavailableError, UsageError } from './exit.ts';

export interface ConnectOptions {
  /** `//host:port`; else WSNADDR, else the default. */
  readonly connect?: string;
}

/** Runs `work` with a joined context and leaves afterwards. */
export async function withContext<T>(
  options: ConnectOptions,
  work: (ctx: Context) => Promise<T>,
): Promise<T> {
  const ctx = await join(options);
  try {
    return await work(ctx);
  } catch (error) {
    if (TpError.is(error) && error.outcomeUnknown) {
      throw new UnavailableError(`${error.message} (whether it took effect is not known)`);
    }
    throw error;
  } finally {
    await ctx.tpterm();
  }
}

async function join(options: ConnectOptions): Promise<Context> {
  try {
    return await tpinit({
      ...(options.connect === undefined ? {} : { address: options.connect }),
      cltname: 'tmqueue-cli',
      reconnect: false,
    });
  } catch (error) {
    if (TpError.is(error) && error.tperrno === TPERRNO.TPEINVAL) throw new UsageError(error.message);
    if (TpError.is(error) && error.cause !== undefined) throw new UnavailableError(error.message);
    throw error;
  }
}

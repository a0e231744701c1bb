import { AsyncLocalStorage } from 'node:async_hooks';
import { readFile } from 'node:fs/promises';
import { axios } from 'acme-client';
import { Agent, request } from 'undici';
import { runWithin } from '../../src/platform/deadline.ts';
import { dependencyDown } from '../../src/platform/errors.ts';

const REQUEST_MS_MAX = 20_000;
/** Maximum reply size. Replies contain an order, or a chain of a few certificates. */
const REPLY_BYTES_MAX = 256 * 1024;

/** Related calls to an authority. */
interface Calls {
  readonly signal: AbortSignal;
  readonly agent: Agent;
  /** Seconds that the authority told this client to wait when it last refused too many requests. */
  retryAfterSeconds: number | null;
}

/** Calls of the current run. The requests of acme-client share one configuration, so they find their run here. */
const current = new AsyncLocalStorage<Calls>();

type Adapter = Extract<typeof axios.defaults.adapter, (...args: never[]) => unknown>;

/**
 * Run work with acme-client whose requests are bounded and can be aborted. The library's own retries can't be aborted.
 * They start only if the transport throws for a status, which this one doesn't.
 * @param caFile CA certificates for the authority's server; null for those of the system
 * @param onWait called with the seconds of `Retry-After` if the authority refuses too many requests
 */
export async function withTransport<T>(
  options: { readonly signal: AbortSignal; readonly caFile: string | null; readonly onWait: (seconds: number) => void },
  work: () => Promise<T>,
): Promise<T> {
  const ca = options.caFile === null ? null : await readFile(options.caFile, 'utf8');
  const agent = new Agent(ca === null ? {} : { connect: { ca } });
  const calls: Calls = { signal: options.signal, agent, retryAfterSeconds: null };
  axios.defaults.adapter = send;
  try {
    return await current.run(calls, work);
  } finally {
    if (calls.retryAfterSeconds !== null) options.onWait(calls.retryAfterSeconds);
    await agent.destroy();
  }
}

/** Transport of axios by undici (https://axios-http.com/docs/req_config, `adapter`). */
const send: Adapter = (config) => {
  const calls = current.getStore();
  if (calls === undefined) throw new TypeError('this needs withTransport');
  return runWithin(REQUEST_MS_MAX, calls.signal, (signal) => sendWithin(calls, config, signal));
};

async function sendWithin(calls: Calls, config: Parameters<Adapter>[0], signal: AbortSignal): ReturnType<Adapter> {
  const reply = await request(config.url as string, {
    method: (config.method ?? 'get').toUpperCase() as 'GET',
    headers: config.headers.toJSON() as Record<string, string>,
    ...(config.data === undefined ? {} : { body: config.data as string }),
    dispatcher: calls.agent,
    signal,
  });
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of reply.body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > REPLY_BYTES_MAX) throw dependencyDown('acme', 'the response of the authority is too large', null);
    chunks.push(chunk);
  }
  if (reply.statusCode === 429 || reply.statusCode === 503) {
    calls.retryAfterSeconds = secondsOf(reply.headers['retry-after']);
  }
  return {
    data: Buffer.concat(chunks).toString(),
    status: reply.statusCode,
    statusText: '',
    headers: reply.headers as Record<string, string>,
    config,
  };
}

/** Parse `Retry-After`, seconds or a date (RFC 9110, section 10.2.3); null if it is missing. */
function secondsOf(header: string | string[] | undefined): number | null {
  if (typeof header !== 'string') return null;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}

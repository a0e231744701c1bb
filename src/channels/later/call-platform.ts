import type { Secret } from '../../platform/secret.ts';
import { HttpUpstream } from '../../platform/upstream/transport.ts';
import { causeOf } from '../../platform/upstream/upstream-errors.ts';
import { UpstreamFault } from '../../platform/upstream/upstream-fault.ts';
import type { LaterReplies, PlatformCall, Verdict } from '../messengers/messenger.ts';

/** Time limit of a call. */
export const CALL_MS = 10_000;
const ANSWER_BYTES_MAX = 64 * 1024;

/**
 * Return true if a URL is at one of the origins.
 *
 * @param origins lowercase origins; `*.` matches any subdomain
 */
export function isAtOrigin(url: string, origins: readonly string[]): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, host, origin, username, password } = new URL(url);
  if (username !== '' || password !== '') return false;
  return origins.some((allowed) => {
    const [scheme = '', domain] = allowed.split('://*');
    return domain === undefined
      ? origin === new URL(allowed).origin
      : protocol === `${scheme}:` && host.endsWith(domain);
  });
}

/**
 * Call a platform once. Refuse a URL outside the allowed origins.
 *
 * @param url address of the call, which may contain a credential
 */
export async function callPlatform(
  url: Secret,
  call: PlatformCall,
  { origins, judge }: { readonly origins: readonly string[]; readonly judge: LaterReplies<never>['judge'] },
): Promise<Verdict> {
  if (!isAtOrigin(url.reveal(), origins)) return { kind: 'refused', reason: 'origin_not_allowed' };
  const { origin, pathname, search } = new URL(url.reveal());
  const upstream = new HttpUpstream(origin, { connectionsMax: 1 });
  try {
    const answer = await upstream.call({
      method: call.body === null ? 'GET' : 'POST',
      path: pathname + search,
      headers: {
        'content-type': 'application/json; charset=utf-8',
        accept: 'application/json',
        ...(call.authorization === null ? {} : { authorization: call.authorization.reveal() }),
      },
      body: call.body === null ? null : JSON.stringify(call.body),
      timeoutMs: CALL_MS,
      bodyBytesMax: ANSWER_BYTES_MAX,
      // Don't abort on shutdown: the response must be awaited and recorded.
      signal: new AbortController().signal,
    });
    return judge(answer);
  } catch (error) {
    if (!(error instanceof UpstreamFault)) throw error;
    const reason = causeOf(error);
    return error.isUnsent ? { kind: 'again', reason, afterMs: null } : { kind: 'uncertain', reason };
  } finally {
    await upstream.close();
  }
}

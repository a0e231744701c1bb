import { readStart } from '../../../platform/read-start.ts';
import { pageAddress } from './page-address.ts';
import { RequestFailure } from './request-failure.ts';
import type { WebClient, WebReply } from './web-client.ts';

/** Maximum number of redirects to follow (RFC 9309, section 2.3.1.2). */
export const REDIRECTS_MAX = 5;

/** Return a redirect's target; null for any other response or an invalid target. */
export function redirectOf(reply: WebReply): URL | null {
  const isRedirect = [301, 302, 303, 307, 308].includes(reply.status);
  const location = isRedirect ? reply.header('location') : null;
  return location === null ? null : pageAddress(location, reply.url);
}

/**
 * Request a file that isn't a page, such as robots.txt or a sitemap, following redirects.
 * @throws RequestFailure, the reason of the signal
 */
export async function getFollowing(client: WebClient, from: URL, signal: AbortSignal): Promise<WebReply> {
  let url = from;
  for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
    const reply = await client.get(url, {}, signal);
    const to = redirectOf(reply);
    if (to === null) return reply;
    await reply.discard();
    url = to;
  }
  throw new RequestFailure(`it redirects more than ${REDIRECTS_MAX} times`);
}

/** Read the start of a body as UTF-8. @throws RequestFailure */
export async function readStartOf(reply: WebReply, bytesMax: number): Promise<string> {
  return (await readStart(reply.body(Number.POSITIVE_INFINITY), bytesMax)).toString('utf8');
}

import robotsParser from 'robots-parser';
import { SourceFault } from '../source-reader.ts';
import { getFollowing, readStartOf } from './get-text.ts';
import { RequestFailure } from './request-failure.ts';
import type { WebClient, WebReply } from './web-client.ts';

/** Number of bytes of robots.txt to read (RFC 9309, section 2.5, asks for at least 500 KiB). */
const BYTES_MAX = 512 * 1024;
/** Maximum crawl delay that a site may ask for. */
const CRAWL_DELAY_S_MAX = 10;

/** Function exported by the package. Its types wrongly describe an ES module. */
const parse = robotsParser as unknown as (url: string, text: string) => ParsedRobots;

interface ParsedRobots {
  isAllowed(url: string, userAgent: string): boolean | undefined;
  getCrawlDelay(userAgent: string): number | undefined;
  getSitemaps(): string[];
}

/** Robots rules of one origin, for all crawlers and for ours. */
export interface Robots {
  allows(url: URL): boolean;
  readonly sitemaps: readonly string[];
}

const ALLOWS_ALL: Robots = { allows: () => true, sitemaps: [] };

/**
 * Read the robots rules of an origin (RFC 9309), and apply its `Crawl-delay`, up to 10 s. An origin without rules
 * allows everything.
 * @param url address on the origin
 * @throws SourceFault if the rules can't be read, which forbids everything
 */
export async function readRobots(client: WebClient, url: URL, userAgent: string, signal: AbortSignal): Promise<Robots> {
  const address = new URL('/robots.txt', url);
  try {
    const reply = await getFollowing(client, address, signal);
    const { status } = reply;
    if (status >= 200 && status < 300)
      return parseRobots(client, address, await readStartOf(reply, BYTES_MAX), userAgent);
    await reply.discard();
    if (status === 401 || status === 407) throw refused(reply);
    if (status < 500 && status !== 429) return ALLOWS_ALL;
    throw new SourceFault(
      'source_unavailable',
      `${address.href} answers ${status}, so nothing of the site may be read; repair it, or remove robots.txt`,
      { retryable: true },
    );
  } catch (error) {
    if (!(error instanceof RequestFailure)) throw error;
    throw new SourceFault('source_unavailable', `the site ${address.origin} cannot be read: ${error.message}`, {
      retryable: error.isDown,
      cause: error,
    });
  }
}

function refused({ url, status }: WebReply): SourceFault {
  return new SourceFault(
    'source_refused',
    `the site ${url.origin} asks for a login (${status}); set headers or cookie of the connection in the settings`,
  );
}

function parseRobots(client: WebClient, address: URL, text: string, userAgent: string): Robots {
  const robots = parse(address.href, text);
  const delay = robots.getCrawlDelay(userAgent) ?? 0;
  if (delay > 0) client.pacerOf(address).slowDown(Math.min(delay, CRAWL_DELAY_S_MAX) * 1_000);
  return {
    allows: (url) => robots.isAllowed(url.href, userAgent) !== false,
    sitemaps: robots.getSitemaps(),
  };
}

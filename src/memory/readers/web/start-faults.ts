import { SourceFault } from '../source-reader.ts';
import type { PageOutcome } from './get-page.ts';
import type { PageNote } from './page-notes.ts';
import type { Sitemap } from './sitemaps.ts';

/** Faults of a source whose start pages are all unreadable. */
export const noFirstPage = {
  forbidden: ({ origin, href }: URL, userAgent: string) =>
    new SourceFault(
      'source_refused',
      `${origin}/robots.txt forbids ${href} to the crawler ${userAgent.split('/')[0]}; allow it there, or choose another start`,
    ),
  failed({ href }: URL, { fault, status, isDown }: Extract<PageOutcome, { kind: 'fault' }>) {
    if (status === 401 || status === 403) {
      const hint = 'set headers or cookie of the connection in the settings';
      return new SourceFault('source_refused', `${href} cannot be read: ${fault}; ${hint}`);
    }
    const message = `${href} cannot be read: ${fault}`;
    return new SourceFault('source_unavailable', message, { retryable: isDown });
  },
  absent: ({ href }: URL, outcome: PageOutcome) =>
    outcome.kind === 'gone'
      ? new SourceFault('source_missing', `there is no page ${href} (${outcome.status}); check the start of the source`)
      : new SourceFault('source_settings', `${href} is neither a page nor a document; choose another start`),
  redirected: ({ href }: URL, to: URL | null) =>
    new SourceFault(
      'source_settings',
      `${href} redirects to ${to?.href ?? 'an address that cannot be requested'}, which the source may not read; begin there, and add it to the sites of the connection`,
    ),
  withoutSitemap: (starts: readonly URL[], first: Sitemap | undefined) =>
    first === undefined
      ? new SourceFault(
          'source_missing',
          `there is no sitemap at ${starts[0]?.origin}; name it in robots.txt, or set config.sitemap to "auto"`,
        )
      : new SourceFault('source_unavailable', `the sitemap ${first.url.href} cannot be read: ${first.fault}`, {
          retryable: true,
        }),
} as const;

/** Time from midnight UTC of a date until that day is over everywhere. */
const DAY_MS = 38 * 3_600_000;

/**
 * Return true if a page needs no request, because its sitemap shows that it hasn't changed since it was read. A date
 * without a time counts only once that day is over everywhere.
 * @param lastmod text from the sitemap (W3C date and time)
 */
export function isFresh(note: PageNote, lastmod: string | null): boolean {
  if (lastmod === null || lastmod !== note.lastmod) return false;
  const changedMs = Date.parse(lastmod);
  const isDay = /^\d{4}-\d\d-\d\d$/.test(lastmod);
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(lastmod);
  return (isDay || isTime) && changedMs + (isDay ? DAY_MS : 0) < note.readAtMs;
}

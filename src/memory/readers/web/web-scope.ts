import { ANY_SITE } from '../../../platform/web-source-settings.ts';
import { compileGlobs, type Globs } from '../globs.ts';
import { SourceFault } from '../source-reader.ts';
import { decodedPath, pageAddress } from './page-address.ts';

/** Maximum repeats of a name in a path: a wrongly relative link can extend a path endlessly. */
const SEGMENT_REPEATS_MAX = 4;

export interface ScopeOptions {
  readonly sites: readonly string[];
  readonly start: readonly string[] | undefined;
  readonly globs: Globs;
}

/** Set of pages that a source may read. */
export interface WebScope {
  readonly starts: readonly URL[];
  /** Return true for an address within a site of the connection, a start folder, and the patterns. */
  includes(url: URL): boolean;
  /** Return true for an address on the origin of a start, where sitemaps may be anywhere. */
  isAtStart(url: URL): boolean;
}

/** Build the scope of a source. @throws SourceFault if a start is missing or outside the connection's sites */
export function openScope({ sites, start, globs }: ScopeOptions): WebScope {
  const isOpen = sites.includes(ANY_SITE);
  if (isOpen && start === undefined) {
    throw new SourceFault('source_settings', 'config.start is needed, because the connection allows every public site');
  }
  const allowed = isOpen ? [] : sites.map(addressOf);
  const starts = (start ?? sites).map(addressOf);
  const isAllowed = (url: URL) => isOpen || allowed.some((site) => isWithin(site, url));
  const outside = starts.find((url) => !isAllowed(url));
  if (outside !== undefined) {
    throw new SourceFault(
      'source_settings',
      `config.start: ${outside.href} is outside of the sites of the connection (${sites.join(', ')})`,
    );
  }
  const folders = start === undefined ? allowed : starts.map((url) => new URL('.', url));
  const compiled = compileGlobs(globs);
  const origins = new Set(starts.map(({ origin }) => origin));
  return {
    starts,
    isAtStart: ({ origin }) => origins.has(origin),
    includes(url) {
      if (!isAllowed(url) || !folders.some((folder) => isWithin(folder, url))) return false;
      const path = decodedPath(url);
      if (hasTrap(path)) return false;
      const name = `${url.host}${path}`;
      const names = url.search === '' ? [name] : [name, `${name}${url.search}`];
      return names.some(compiled.matches) && !names.some(compiled.excludes);
    },
  };
}

function addressOf(text: string): URL {
  const url = pageAddress(text);
  if (url === null) throw new SourceFault('source_settings', `${text} is not the address of a page`);
  return url;
}

/** Return true if an address is the site or below it. A site without a trailing slash is a page or a folder. */
function isWithin(site: URL, url: URL): boolean {
  if (url.origin !== site.origin) return false;
  const folder = site.pathname.endsWith('/') ? site.pathname : `${site.pathname}/`;
  return url.pathname === folder.slice(0, -1) || url.pathname.startsWith(folder);
}

/** Return true for a path that contains ".." once decoded, or that repeats a name too often. */
function hasTrap(path: string): boolean {
  const segments = path.split(/[/\\]/);
  if (segments.includes('..')) return true;
  const counts = new Map<string, number>();
  for (const segment of segments) if (segment !== '') counts.set(segment, (counts.get(segment) ?? 0) + 1);
  return [...counts.values()].some((count) => count > SEGMENT_REPEATS_MAX);
}

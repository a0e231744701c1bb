/** Crawler rules of a page: robots meta elements and the header `X-Robots-Tag`. */
export interface PageRules {
  /** False if the page must not become an entry. */
  readonly mayIndex: boolean;
  /** False if its links must not be followed. */
  readonly mayFollow: boolean;
}

export const NO_RULES: PageRules = { mayIndex: true, mayFollow: true };

/** Directives with a value after the colon, where otherwise a crawler name precedes it. */
const WITH_VALUE = /^(?:unavailable_after|max-snippet|max-image-preview|max-video-preview)$/;

/**
 * Parse the directives of a robots meta element or of the header `X-Robots-Tag`, which may be limited to one crawler:
 * `noindex, nofollow`, `otherbot: noindex`.
 * @see https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag
 */
export function parseRules(text: string, robotName: string): PageRules {
  let isForUs = true;
  let rules = NO_RULES;
  for (const part of text.toLowerCase().split(',')) {
    const [, name, rest] = /^\s*([a-z0-9_-]+)\s*:(.*)$/.exec(part) ?? [];
    if (name !== undefined && !WITH_VALUE.test(name)) isForUs = name === robotName.toLowerCase();
    if (isForUs) rules = stricter(rules, directiveOf((rest ?? part).trim()));
  }
  return rules;
}

/** Combine rules. Each restriction of either applies. */
export function stricter(a: PageRules, b: PageRules): PageRules {
  return { mayIndex: a.mayIndex && b.mayIndex, mayFollow: a.mayFollow && b.mayFollow };
}

function directiveOf(directive: string): PageRules {
  const isNone = directive === 'none';
  return { mayIndex: !isNone && directive !== 'noindex', mayFollow: !isNone && directive !== 'nofollow' };
}

import { invalidRequest } from '../../platform/errors.ts';

/** Comparison in a filter: a lower-case attribute without its schema, and the value it must equal. */
export interface Equals {
  readonly attribute: string;
  readonly value: string;
}

const COMPARISON =
  /^\s*(?:urn:[\w:.]+:)?(?<attribute>[\w.]+(?:\[[^\]]*\](?:\.\w+)?)?)\s+eq\s+(?<value>"(?:[^"\\]|\\.)*"|true|false)/i;
const AND = /^\s+and\s+/i;

/**
 * Parse a filter of equalities joined by `and`, the form that directories send (RFC 7644, section 3.4.2.2).
 *
 * @throws AppError `invalidFilter` (400)
 */
export function readFilter(filter: string | undefined): Equals[] {
  const found: Equals[] = [];
  for (let rest = filter?.trim() ?? ''; rest !== ''; ) {
    const match = COMPARISON.exec(rest);
    const { attribute, value } = match?.groups ?? {};
    if (!match || attribute === undefined || value === undefined) throw invalidFilter();
    found.push({ attribute: attribute.toLowerCase(), value: unquote(value) });
    rest = rest.slice(match[0].length);
    const and = AND.exec(rest);
    if (and) rest = rest.slice(and[0].length);
    if (and ? rest === '' : rest.trim() !== '') throw invalidFilter();
    if (!and) break;
  }
  return found;
}

function unquote(value: string): string {
  if (!value.startsWith('"')) return value.toLowerCase();
  try {
    return JSON.parse(value) as string;
  } catch {
    throw invalidFilter();
  }
}

export function invalidFilter(): Error {
  const message = 'filter: only comparisons with eq are known, joined by "and", such as userName eq "ana@example.com"';
  return invalidRequest(message, 'filter', 'invalidFilter');
}

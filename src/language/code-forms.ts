import { analyseQueryText } from './analyser.ts';

/** Terms of a code in a query, and the terms of other ways to write the same code. */
export interface CodeForms {
  readonly phrase: readonly string[];
  readonly others: readonly (readonly string[])[];
}

/** Maximum number of codes to examine in one query. */
const CODES_MAX = 8;
const CODES = /(?<![\p{L}\p{N}._/-])[a-z0-9]+(?:[-_.][a-z0-9]+)*(?![-_.]?[a-z0-9])/gu;

/**
 * Find the codes of a query that texts may write in several ways. Only two kinds count: versions with and without a `v`
 * (`v2.3.1`, `2.3.1`), and letters before one number with and without a separator (`AB-1234`, `AB1234`). Don't return
 * codes of other forms, such as `EL1-7`. The parts and the whole of a code are already terms, in queries and in texts.
 */
export function findCodeForms(query: string): CodeForms[] {
  const forms = new Map<string, CodeForms>();
  for (const [code] of query.normalize('NFKC').toLowerCase().matchAll(CODES)) {
    const others = otherForms(code);
    if (others.length > 0) forms.set(code, { phrase: analyseQueryText(code), others: others.map((other) => [other]) });
    if (forms.size === CODES_MAX) break;
  }
  return [...forms.values()];
}

function otherForms(code: string): string[] {
  if (/^v\d+(?:\.\d+){1,3}$/.test(code)) return [code.slice(1)];
  if (/^\d+(?:\.\d+){1,3}$/.test(code)) return [`v${code}`];
  const joined = /^([a-z]{1,8})([-_])?(\d{2,12})$/.exec(code);
  if (!joined) return [];
  const [, letters, sign, digits] = joined;
  const forms = [`${letters}${digits}`, `${letters}-${digits}`, `${letters}_${digits}`];
  return forms.filter((form) => form !== `${letters}${sign ?? ''}${digits}`);
}

import type { ReservedKeys } from '../../types.ts';

export interface Completion {
  readonly text: string;
  readonly kind: 'keyword' | 'field' | 'key' | 'value';
}

const STARTS = [
  'SELECT documents WHERE ',
  'UPDATE documents SET ',
  'SOFTDELETE FROM documents WHERE ',
  'HARDDELETE FROM documents WHERE ',
];
const KEYWORDS = [
  'WHERE',
  'SET',
  'AND',
  'OR',
  'NOT',
  'IN',
  'LIKE',
  'IS NULL',
  'IS NOT NULL',
  'LIMIT',
  'TRUE',
  'FALSE',
  'NULL',
];
const SHOWN_MAX = 8;

/** Return the word before the cursor. Keys may have dots and dashes. */
export function wordBefore(statement: string, cursor: number): string {
  return /[A-Za-z_][A-Za-z0-9_.-]*$/.exec(statement.slice(0, cursor))?.[0] ?? '';
}

/** List the completions at the cursor that start with the word before it. */
export function completionsAt(
  statement: string,
  cursor: number,
  { keys, userKeys }: { keys: ReservedKeys | null; userKeys: readonly string[] },
): Completion[] {
  const before = statement.slice(0, cursor);
  const isInText = (before.match(/'/g) ?? []).length % 2 === 1;
  if (isInText) return [];
  const word = wordBefore(statement, cursor);
  if (word === '') return [];
  if (before.trim() === word) return matching(STARTS, word, 'keyword');
  return [
    ...matching(keys?.statement_fields ?? [], word, 'field'),
    ...matching(userKeys, word, 'key'),
    ...matching(KEYWORDS, word, 'keyword'),
  ].slice(0, SHOWN_MAX);
}

function matching(texts: readonly string[], word: string, kind: Completion['kind']): Completion[] {
  const start = word.toLowerCase();
  const found = texts.filter((text) => text.toLowerCase().startsWith(start) && text.toLowerCase().trim() !== start);
  return found.map((text) => ({ text, kind }));
}

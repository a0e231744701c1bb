import { z } from 'zod';
import { locateTerms } from '../language/locate-terms.ts';
import type { Correction } from './resident/correct-words.ts';

/** Word of the query that no document of the bucket has, and the one that was searched in its place. */
export const CorrectedWord = z.object({ from: z.string(), to: z.string() }).meta({ id: 'CorrectedWord' });
export type CorrectedWord = z.output<typeof CorrectedWord>;

/**
 * Describe corrections for people, each once. A corrected word is shown as a found text spells it, since the index knows
 * only its stem.
 */
export function describeCorrections(
  corrections: readonly Correction[],
  found: readonly { readonly text: string }[],
): CorrectedWord[] {
  const described = new Map<string, CorrectedWord>();
  for (const { from, to, by } of corrections) {
    const [only = ''] = by.length === 1 ? by : [];
    const shown = only === '' ? to : (spelledIn(found, only) ?? to);
    described.set(`${from} ${shown}`, { from, to: shown });
  }
  return [...described.values()];
}

function spelledIn(found: readonly { readonly text: string }[], term: string): string | null {
  for (const { text } of found) {
    const [first] = locateTerms(text, new Set([term]));
    if (first) return text.slice(first.start, first.end).toLowerCase();
  }
  return null;
}

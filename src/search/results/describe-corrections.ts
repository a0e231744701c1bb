import { z } from 'zod';
import { analyse } from '../../language/analyser.ts';
import { locateTerms } from '../../language/locate-terms.ts';
import type { Correction } from '../../resident/keywords/correct-words.ts';

/** Query word that no document of the bucket contains, and its correction. */
export const CorrectedWord = z.object({ from: z.string(), to: z.string() }).meta({ id: 'CorrectedWord' });
export type CorrectedWord = z.output<typeof CorrectedWord>;

/**
 * Describe each correction once for display. Include a correction only if a found text contains its word: the index may
 * still hold deleted documents, whose words must not be revealed. Show the word as spelled in the text, since the index
 * knows only its stem.
 */
export function describeCorrections(
  corrections: readonly Correction[],
  found: readonly { readonly text: string }[],
): CorrectedWord[] {
  const described = new Map<string, CorrectedWord>();
  if (corrections.length === 0) return [];
  const texts = found.map(({ text }) => ({ text, terms: new Set(analyse(text)) }));
  for (const { from, to, by } of corrections) {
    const holder = texts.find(({ terms }) => by.every((term) => terms.has(term)));
    if (!holder) continue;
    const shown = by.length > 1 ? to : spelledIn(holder.text, new Set(by));
    described.set(`${from} ${shown}`, { from, to: shown });
  }
  return [...described.values()];
}

function spelledIn(text: string, terms: ReadonlySet<string>): string {
  const [first] = locateTerms(text, terms);
  return first ? text.slice(first.start, first.end).toLowerCase() : [...terms].join(' ');
}

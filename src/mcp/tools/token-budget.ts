import { countTokens } from '../../models/tokens.ts';

/** Safety factor on the estimate, since the tokenizer of the client's model is unknown. */
const MARGIN = 1.15;
const ENDS_OF_PARAGRAPHS = /\n\s*\n/g;
const ENDS_OF_SENTENCES = /[.!?。！？](?=\s)|\n/g;
const BLANKS = /\s+/g;

/** Estimate the tokens of a text in a model's context, erring on the high side. */
export function tokensOf(text: string): number {
  return Math.ceil(countTokens(text) * MARGIN);
}

/**
 * Truncate a text to a number of tokens, between paragraphs, sentences or words if possible.
 *
 * @param kept part of the text to keep
 */
export function cutToTokens(text: string, tokensMax: number, kept: 'start' | 'end'): string {
  if (tokensOf(text) <= tokensMax) return text;
  const take = (length: number) => (kept === 'start' ? text.slice(0, length) : text.slice(text.length - length));
  let fits = 0;
  let exceeds = text.length;
  while (exceeds - fits > 1) {
    const middle = (fits + exceeds) >> 1;
    if (tokensOf(take(middle)) <= tokensMax) fits = middle;
    else exceeds = middle;
  }
  return atBoundary(take(fits), kept);
}

/** Drop the incomplete paragraph, sentence or word of a truncated text, if at least half of the text remains. */
function atBoundary(text: string, kept: 'start' | 'end'): string {
  for (const boundary of [ENDS_OF_PARAGRAPHS, ENDS_OF_SENTENCES, BLANKS]) {
    const ends = [...text.matchAll(boundary)].map(({ 0: found, index }) => index + found.length);
    const end = kept === 'start' ? ends.at(-1) : ends[0];
    if (end === undefined) continue;
    const rest = kept === 'start' ? text.slice(0, end) : text.slice(end);
    if (rest.length >= text.length / 2) return rest;
  }
  return text.isWellFormed() ? text : kept === 'start' ? text.slice(0, -1) : text.slice(1);
}

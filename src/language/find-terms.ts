import { analyse } from './analyser.ts';

/** Terms of scripts whose words are cut into pairs of characters. */
const PAIR =
  /^[\p{sc=Hangul}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]{1,2}$/u;
const HANGUL = /[가-힣]+/g;

/**
 * Find the terms that a text has, in much less time than it takes to analyse it. Pairs of characters are looked for as they
 * are, so that a pair within an ending is found too.
 */
export function findTerms(text: string, wanted: ReadonlySet<string>): Set<string> {
  const found = new Set<string>();
  let others = false;
  const composed = text.normalize('NFC');
  for (const term of wanted) {
    if (!PAIR.test(term)) others = true;
    else if (composed.includes(term)) found.add(term);
  }
  if (others) for (const term of analyse(composed.replace(HANGUL, ' '))) if (wanted.has(term)) found.add(term);
  return found;
}

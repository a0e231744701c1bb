import { analyse } from '../../language/analyser.ts';

/** Minimum Jaccard similarity of the terms of near-duplicates. */
const NEAR_DUPLICATE_SHARE = 0.9;

/** Number of leading characters to compare first. Most texts differ there already, which saves analysing the rest. */
const BEGINNING_CHARS = 240;

/** Chunk fields needed for the comparison. */
interface Compared {
  readonly documentId: string;
  readonly text: string;
}

/**
 * Take the best passages of a ranked list: at most `perDocumentMax` per document and `wanted` in total. Skip
 * near-duplicates of a better passage of the same document.
 *
 * Chunks are near-duplicates if the Jaccard similarity of their terms is at least 0.9. The overlap of neighbouring
 * chunks is far below that.
 */
export function collapse<P extends Compared>(
  ranked: Iterable<P>,
  { wanted, perDocumentMax }: { wanted: number; perDocumentMax: number | null },
): P[] {
  const kept: P[] = [];
  const byDocument = new Map<string, Kept[]>();
  for (const passage of ranked) {
    if (kept.length === wanted) break;
    const siblings = byDocument.get(passage.documentId) ?? [];
    if (siblings.length === (perDocumentMax ?? Number.POSITIVE_INFINITY)) continue;
    const own: Kept = { text: passage.text, terms: null, beginning: null };
    if (siblings.some((sibling) => isNearDuplicate(sibling, own))) continue;
    siblings.push(own);
    byDocument.set(passage.documentId, siblings);
    kept.push(passage);
  }
  return kept;
}

interface Kept {
  readonly text: string;
  /** Computed at the first comparison, since most documents occur only once in a list. */
  terms: ReadonlySet<string> | null;
  /** Terms of the first characters; null until needed, undefined if the text is too short. */
  beginning: ReadonlySet<string> | null | undefined;
}

function isNearDuplicate(a: Kept, b: Kept): boolean {
  if (a.text === b.text) return true;
  // Texts of very different length can't share so many terms. Halve the threshold, since one text may repeat terms.
  const [shorter, longer] = a.text.length < b.text.length ? [a, b] : [b, a];
  if (shorter.text.length < longer.text.length * (NEAR_DUPLICATE_SHARE / 2)) return false;
  a.terms ??= new Set(analyse(a.text));
  if (b.terms === null && differsAtBeginning(a.terms, b)) return false;
  b.terms ??= new Set(analyse(b.text));
  let common = 0;
  for (const term of a.terms) if (b.terms.has(term)) common++;
  const all = a.terms.size + b.terms.size - common;
  return all > 0 && common / all >= NEAR_DUPLICATE_SHARE;
}

/** Return true if the terms lack so many terms of the other text's beginning that it can't be a near-duplicate. */
function differsAtBeginning(terms: ReadonlySet<string>, other: Kept): boolean {
  if (other.beginning === null) other.beginning = termsOfBeginning(other.text);
  if (other.beginning === undefined) return false;
  let missing = 0;
  for (const term of other.beginning) if (!terms.has(term)) missing++;
  // At most `terms.size` terms are shared, out of at least `terms.size + missing`.
  return terms.size / (terms.size + missing) < NEAR_DUPLICATE_SHARE;
}

function termsOfBeginning(text: string): ReadonlySet<string> | undefined {
  if (text.length <= 2 * BEGINNING_CHARS) return undefined;
  // Cut at whitespace, which no term contains.
  const end = text.slice(0, BEGINNING_CHARS).search(/\s\S*$/);
  return end <= 0 ? undefined : new Set(analyse(text.slice(0, end)));
}

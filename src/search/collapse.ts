import { analyse } from '../language/analyser.ts';

/** Share of all terms of two chunks that near-duplicates have in common at least. */
const NEAR_DUPLICATE_SHARE = 0.9;

/** Fields of a chunk that are compared. */
interface Compared {
  readonly documentId: string;
  readonly text: string;
}

/**
 * Take the best of a ranked list: only the first of near-duplicate chunks of one document, at most `perDocumentMax` of
 * one document, and at most `wanted` altogether.
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
    const own: Kept = { text: passage.text, terms: null };
    if (siblings.some((sibling) => isNearDuplicate(sibling, own))) continue;
    siblings.push(own);
    byDocument.set(passage.documentId, siblings);
    kept.push(passage);
  }
  return kept;
}

interface Kept {
  readonly text: string;
  /** Computed at the first comparison: most documents occur in a list once. */
  terms: ReadonlySet<string> | null;
}

function isNearDuplicate(a: Kept, b: Kept): boolean {
  if (a.text === b.text) return true;
  // Texts of very different length cannot share so much.
  const [shorter, longer] = a.text.length < b.text.length ? [a, b] : [b, a];
  if (shorter.text.length < longer.text.length * (NEAR_DUPLICATE_SHARE / 2)) return false;
  a.terms ??= new Set(analyse(a.text));
  b.terms ??= new Set(analyse(b.text));
  let common = 0;
  for (const term of a.terms) if (b.terms.has(term)) common++;
  const all = a.terms.size + b.terms.size - common;
  return all > 0 && common / all >= NEAR_DUPLICATE_SHARE;
}

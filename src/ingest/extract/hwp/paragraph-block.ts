import type { BlockDraft } from '../blocks.ts';

/** Role that a paragraph shape gives its paragraphs. `level` is from 1. */
export interface ParagraphRole {
  readonly kind: 'outline' | 'list';
  readonly level: number;
}

/** Maximum length of a heading. Official letters use outline styles for whole paragraphs to number them. */
const HEADING_CHARS_MAX = 120;

/**
 * Make the block of a paragraph of a Hancom document. The program draws numbers and bullets; the file does not hold
 * them.
 */
export function paragraphBlock(text: string, role: ParagraphRole | null): BlockDraft {
  const trimmed = text.trim();
  if (role?.kind === 'outline' && trimmed.length <= HEADING_CHARS_MAX) {
    return { kind: 'heading', level: role.level, text: trimmed.replace(/\s+/g, ' ') };
  }
  if (role !== null) return { kind: 'list_item', level: role.level, text: `- ${trimmed}` };
  return { kind: 'paragraph', text };
}

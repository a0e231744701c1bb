import type { BlockDraft } from '../blocks.ts';

/** What a paragraph shape says of its paragraphs. `level` from 1. */
export interface ParagraphRole {
  readonly kind: 'outline' | 'list';
  readonly level: number;
}

/** Official letters set whole paragraphs in outline styles, for their numbers. */
const HEADING_CHARS_MAX = 120;

/** A paragraph of a Hancom document. Numbers and bullets are drawn by the program and not in the file. */
export function paragraphBlock(text: string, role: ParagraphRole | null): BlockDraft {
  const trimmed = text.trim();
  if (role?.kind === 'outline' && trimmed.length <= HEADING_CHARS_MAX) {
    return { kind: 'heading', level: role.level, text: trimmed.replace(/\s+/g, ' ') };
  }
  if (role !== null) return { kind: 'list_item', level: role.level, text: `- ${trimmed}` };
  return { kind: 'paragraph', text };
}

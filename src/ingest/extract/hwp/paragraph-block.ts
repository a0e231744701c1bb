import type { BlockDraft } from '../blocks.ts';

/** Role that a paragraph shape gives its paragraphs. `level` is from 1. */
export interface ParagraphRole {
  readonly kind: 'outline' | 'list';
  readonly level: number;
}

/** Maximal length of a heading: official letters use outline styles for whole paragraphs, because of their numbers. */
const HEADING_CHARS_MAX = 120;

/** Block of a paragraph of a Hancom document. Numbers and bullets are drawn by the program and are not in the file. */
export function paragraphBlock(text: string, role: ParagraphRole | null): BlockDraft {
  const trimmed = text.trim();
  if (role?.kind === 'outline' && trimmed.length <= HEADING_CHARS_MAX) {
    return { kind: 'heading', level: role.level, text: trimmed.replace(/\s+/g, ' ') };
  }
  if (role !== null) return { kind: 'list_item', level: role.level, text: `- ${trimmed}` };
  return { kind: 'paragraph', text };
}

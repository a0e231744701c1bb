import type { BlockDraft } from '../blocks.ts';
import type { ParagraphRole } from './hancom-numbering.ts';

/** Maximum length of a heading. Official letters number whole paragraphs with outline styles. */
const HEADING_CHARS_MAX = 120;

/**
 * Build the block of a paragraph of a Hancom document. The file doesn't contain numbers and bullets, which the program
 * draws.
 * @param label paragraph number; null if it has none
 */
export function paragraphBlock(text: string, role: ParagraphRole | null, label: string | null): BlockDraft {
  const trimmed = text.trim();
  if (role?.kind === 'outline' && trimmed.length <= HEADING_CHARS_MAX) {
    return { kind: 'heading', level: role.level, text: `${label ?? ''} ${trimmed}`.replace(/\s+/g, ' ').trim() };
  }
  if (role !== null) return { kind: 'list_item', level: role.level, text: `${label ?? '-'} ${trimmed}` };
  return { kind: 'paragraph', text };
}

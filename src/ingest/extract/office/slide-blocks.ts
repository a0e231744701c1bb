import type { BlockDraft } from '../blocks.ts';

export function slideHeading(number: number): BlockDraft {
  return { kind: 'heading', level: 1, text: `Slide ${number}`, page: number, slide: number };
}

/**
 * Arrange the blocks of a slide: its title, then the rest, then the speaker's notes. Each slide starts its own section;
 * otherwise its text would appear under another slide's title.
 * @param number from 1
 */
export function arrangeSlide(
  number: number,
  body: readonly BlockDraft[],
  notes: readonly BlockDraft[],
): readonly BlockDraft[] {
  if (body.length === 0 && notes.length === 0) return [];
  const title = body.find(({ kind }) => kind === 'heading');
  const blocks: BlockDraft[] = [title ?? slideHeading(number)];
  for (const block of body) if (block !== title) blocks.push(block);
  if (notes.length > 0) blocks.push({ kind: 'heading', level: 2, text: 'Notes' }, ...notes);
  return blocks.map((block) => ({ ...block, page: number, slide: number }));
}

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chunkDocument } from '../../src/ingest/chunk.ts';
import type { Chunk } from '../../src/ingest/chunk-packer.ts';
import { type AssembledText, type BlockDraft, TextAssembler } from '../../src/ingest/extract/blocks.ts';
import { segmentSentences } from '../../src/language/sentences.ts';
import { SEED } from '../support/random.ts';

/** Token counter with one token per word. */
const countWords = (text: string) => text.match(/\S+/g)?.length ?? 0;

function assemble(drafts: readonly BlockDraft[]): AssembledText {
  const assembler = new TextAssembler({ blocksMax: 1e6, textCharsMax: 1e9 });
  for (const draft of drafts) assembler.add(draft);
  return assembler.takeWindow();
}

describe('any document', () => {
  const word = fc.oneof(
    { weight: 8, arbitrary: fc.stringMatching(/^[a-z]{1,9}$/) },
    { weight: 3, arbitrary: fc.stringMatching(/^[가-힣]{1,5}$/) },
    { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }) },
    { weight: 1, arbitrary: fc.stringMatching(/^[A-Z]{30,60}$/) },
  );
  const sentence = fc
    .tuple(
      fc.array(word, { minLength: 1, maxLength: 14 }),
      fc.constantFrom('.', '!', '?', '', '다.', ','),
      fc.constantFrom(' ', '\n'),
    )
    .map(([words, end, blank]) => `A${words.join(blank)}${end}`);
  const prose = fc.array(sentence, { minLength: 1, maxLength: 8 }).map((each) => each.join(' '));
  const rows = fc
    .array(
      fc.array(word, { maxLength: 6 }).map((cells) => cells.join(' | ')),
      { minLength: 1, maxLength: 8 },
    )
    .map((each) => each.join('\n'));
  const page = fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined });
  const draft: fc.Arbitrary<BlockDraft> = fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('paragraph' as const), text: prose, page }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('list_item' as const), text: sentence, page }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('heading' as const),
        text: word,
        level: fc.integer({ min: 1, max: 6 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('table' as const, 'code' as const), text: rows }) },
  );
  const counters: Record<string, (text: string) => number> = {
    // The count of a text equals the sum of its parts, is less than it, or is more.
    words: countWords,
    'words and a frame': (text) => countWords(text) + 2,
    characters: (text) => Math.floor([...text].length / 3),
  };
  const settings = fc
    .record({
      chunkTokens: fc.integer({ min: 8, max: 60 }),
      overlap: fc.integer({ min: 0, max: 100 }),
      counter: fc.constantFrom(...Object.keys(counters)),
    })
    .map(({ chunkTokens, overlap, counter }) => ({
      chunkTokens,
      overlapTokens: Math.floor((chunkTokens / 2) * (overlap / 100)),
      countTokens: counters[counter] as (text: string) => number,
    }));

  test('any document is chunked within bounds, in order, completely, at sentences, and always with the same result', () => {
    fc.assert(
      fc.property(fc.array(draft, { maxLength: 12 }), settings, (drafts, options) => {
        const document = assemble(drafts);
        const { text } = document;
        const chunks = chunkDocument(document, options);
        const { chunkTokens, countTokens } = options;

        chunks.forEach((chunk, i) => {
          const { start, end, page, heading_path } = chunk.locator;
          expect(chunk.index).toBe(i);
          expect(chunk.text).toBe(text.slice(start, end));
          expect(chunk.text.trim()).toBe(chunk.text);
          expect(chunk.text).not.toBe('');
          expect(chunk.tokenCount).toBe(countTokens(chunk.text));
          expect(chunk.tokenCount <= chunkTokens || [...chunk.text].length === 1).toBe(true);
          expect(page).toBe(document.blocks.find((block) => block.end > start)?.page ?? null);
          const headings = document.blocks
            .filter((block) => block.kind === 'heading' && block.start < end)
            .map((block) => block.text);
          expect(headings).toEqual(expect.arrayContaining(heading_path));
        });
        // Chunks are in order, and only blanks are between them.
        let covered = 0;
        chunks.forEach(({ locator }, i) => {
          expect(text.slice(covered, Math.max(covered, locator.start)).trim()).toBe('');
          expect(locator.end).toBeGreaterThan(covered);
          if (i > 0) expect(locator.start).toBeGreaterThan(chunks[i - 1]?.locator.start ?? 0);
          covered = locator.end;
        });
        expect(text.slice(covered).trim()).toBe('');
        expectWholeSentences(document, chunks, options);
        expectHeadingsWithText(document, chunks, options);
        expect(chunkDocument(document, options)).toEqual(chunks);
      }),
      { numRuns: 400, seed: SEED },
    );
  });
});

function sentenceRanges({ text, blocks }: AssembledText): Array<{ start: number; end: number }> {
  return blocks
    .filter(({ kind }) => kind !== 'table' && kind !== 'code')
    .flatMap(({ start, end }) =>
      segmentSentences(text.slice(start, end)).map((range) => ({ start: start + range.start, end: start + range.end })),
    );
}

/** Expects that no chunk begins or ends inside a sentence that would fit into a chunk. */
function expectWholeSentences(
  document: AssembledText,
  chunks: readonly Chunk[],
  { chunkTokens, countTokens }: { chunkTokens: number; countTokens: (text: string) => number },
): void {
  for (const { start, end } of sentenceRanges(document)) {
    if (countTokens(document.text.slice(start, end)) > chunkTokens) continue;
    for (const { locator } of chunks) {
      expect(locator.start <= start || locator.start >= end).toBe(true);
      expect(locator.end <= start || locator.end >= end).toBe(true);
    }
  }
}

/** Expects that a chunk ends in headings only if they and the first line after them exceed a chunk. */
function expectHeadingsWithText(
  document: AssembledText,
  chunks: readonly Chunk[],
  { chunkTokens, countTokens }: { chunkTokens: number; countTokens: (text: string) => number },
): void {
  const { text, blocks } = document;
  for (const { locator } of chunks) {
    const at = blocks.findIndex(
      (block) => block.kind === 'heading' && block.start < locator.end && locator.end <= block.end,
    );
    if (at < 0) continue;
    let first = at;
    while (blocks[first - 1]?.kind === 'heading') first--;
    const next = blocks.slice(at).find((block) => block.kind !== 'heading');
    if (next === undefined) continue;
    const isProse = next.kind !== 'table' && next.kind !== 'code';
    const unit = isProse ? segmentSentences(next.text)[0] : { start: 0, end: next.text.split('\n')[0]?.length ?? 0 };
    const start = blocks[first]?.start ?? 0;
    const together = countTokens(text.slice(start, next.start + (unit?.end ?? 0)));
    const headings = blocks.slice(first, blocks.indexOf(next));
    const apart = [...headings.map((block) => block.text), next.text.slice(0, unit?.end)].reduce(
      (sum, each) => sum + countTokens(each),
      0,
    );
    expect(Math.max(together, apart)).toBeGreaterThan(chunkTokens);
  }
}

import { expect, test } from 'vitest';
import { chunkDocument } from '../../src/ingest/chunk.ts';
import { TextAssembler } from '../../src/ingest/extract/blocks.ts';
import { extract } from '../support/read-document.ts';

/** Token counter that needs several tokens for a letter beyond Latin, as tokenizers of vendors do. */
const countTokens = (text: string) => Buffer.byteLength(text) >> 1;
const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

function chunksOf(text: string, kind: 'paragraph' | 'table' | 'code' = 'paragraph') {
  const assembler = new TextAssembler({ blocksMax: 10, textCharsMax: 1e9 });
  assembler.add({ kind, text });
  const document = assembler.takeWindow();
  return { document, chunks: chunkDocument(document, { chunkTokens: 100, overlapTokens: 10, countTokens }) };
}

const SAMPLES: Readonly<Record<string, string>> = {
  'Thai without blanks': 'น้ำที่ท่าเรือขึ้นสูงในตอนเช้าและเรือก็ออกไปแล้วทุกลำ'.repeat(60),
  'Hindi without blanks': 'क्षेत्रीयबन्दरगाहकेनौकाएँप्रातःकालमेंनिकलतीहैं'.repeat(60),
  'families and skin tones': '👨‍👩‍👧‍👦👍🏽👩🏿‍🚀🏳️‍🌈'.repeat(200),
  flags: '🇰🇷🇫🇷🇩🇪🇯🇵'.repeat(200),
  'decomposed Hangul of old Korean': '\u1112\u119e\u11ab\u1100\u119e\u11af'.repeat(400),
  'letters with several marks': 'e\u0301\u0323o\u0308\u0304'.repeat(500),
  'Burmese vowels': 'မြန်မာဘာသာစကားသည်'.repeat(80),
  'Sinhala with joiners': 'ක්‍ෂණිකශ්‍රීලංකා'.repeat(100),
};

test.each(Object.entries(SAMPLES))('no chunk begins or ends inside a character: %s', (_, sample) => {
  for (const kind of ['paragraph', 'table', 'code'] as const) {
    const { document, chunks } = chunksOf(sample, kind);
    expect(chunks.length).toBeGreaterThan(3);
    const boundaries = new Set([...graphemes.segment(document.text)].map(({ index }) => index)).add(
      document.text.length,
    );
    for (const { text, locator } of chunks) {
      expect(document.text.slice(locator.start, locator.end)).toBe(text);
      expect([boundaries.has(locator.start), boundaries.has(locator.end)]).toEqual([true, true]);
      expect(text).not.toMatch(/^(?:\p{M}|\u200d|\ufe0f|[\u{1f3fb}-\u{1f3ff}])/u);
      expect(text).not.toMatch(/\u200d$/);
    }
    expect(chunks.map(({ text }) => text).join('')).toContain(document.text.slice(0, 40));
  }
});

test('one letter with five thousand marks stays one chunk, and far more are cut without a broken surrogate', () => {
  expect(chunksOf(`a${'\u0301'.repeat(2_000)}`).chunks).toHaveLength(1);
  const { chunks } = chunksOf(`a${'\u{1d165}'.repeat(20_000)}`);
  expect(chunks.length).toBeGreaterThan(1);
  expect(chunks.every(({ text }) => text.isWellFormed())).toBe(true);
});

test('long cells and long lines of Markdown are divided between characters', async () => {
  const flags = '🇰🇷🇫🇷'.repeat(20_000);
  for (const [name, text] of [
    ['a.csv', `a,b\n${flags},x\n`],
    ['a.md', `${flags.repeat(3)}\n`],
  ] as const) {
    const { blocks } = await extract(Buffer.from(text), name);
    const lines = blocks.flatMap((block) => block.text.split('\n')).filter((line) => line.includes('🇰'));
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) expect(line).toMatch(/^(?:🇰🇷|🇫🇷).*(?:🇰🇷|🇫🇷)/u);
  }
});

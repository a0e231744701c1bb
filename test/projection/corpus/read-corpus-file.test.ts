import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { CORPUS_TEXTS_MAX, readCorpusFile } from '../../../src/projection/corpus/read-corpus-file.ts';

const dir = mkdtempSync(join(tmpdir(), 'corpus-file-'));
afterAll(() => rmSync(dir, { recursive: true }));

let files = 0;
function fileOf(content: string | Uint8Array): string {
  const path = join(dir, `${files++}.jsonl`);
  writeFileSync(path, content);
  return path;
}

describe('readCorpusFile', () => {
  it('texts and kinds are read in order, despite blank lines, byte order marks, Windows line ends and other fields', async () => {
    const path = fileOf(
      '\uFEFF{"text": "첫째"}\r\n\r\n{"text": "two\\nlines", "kind": "query", "id": 7}\n{"text":"x","kind":"passage"}',
    );
    expect(await readCorpusFile(path)).toEqual([
      { text: '첫째' },
      { text: 'two\nlines', kind: 'query' },
      { text: 'x', kind: 'passage' },
    ]);
  });

  it.each([
    ['a line that is not JSON', '{"text": "a"}\n\nnot json', 3],
    ['an empty text', '{"text": "a"}\n{"text": " \\t"}', 2],
    ['a text that is no string', '{"text": 5}', 1],
    ['a line without a text', '{"texts": "a"}', 1],
    ['an unknown kind', '{"text": "a", "kind": "document"}', 1],
    ['a bare string', '{"text": "a"}\n"b"', 2],
    ['a text of the length of a book', `{"text": "${'a'.repeat(40_000)}"}`, 1],
    ['no texts', '\n\n', 1],
  ])('a corpus file with %s is refused, and the error names the line', async (_, content, line) => {
    await expect(readCorpusFile(fileOf(content))).rejects.toMatchObject({
      code: 'corpus_invalid',
      status: 400,
      message: expect.stringContaining(`line ${line}:`),
    });
  });

  it('a corpus file of as many texts as the limit is accepted, and one more is refused', async () => {
    const line = '{"text":"a"}\n';
    expect(await readCorpusFile(fileOf(line.repeat(CORPUS_TEXTS_MAX)))).toHaveLength(CORPUS_TEXTS_MAX);
    await expect(readCorpusFile(fileOf(line.repeat(CORPUS_TEXTS_MAX + 1)))).rejects.toMatchObject({
      code: 'corpus_too_long',
    });
  });

  it.each([
    ['missing', join(dir, 'missing.jsonl')],
    ['a folder', dir],
    ['in another encoding', fileOf(Uint8Array.from([0x7b, 0xb0, 0xa1]))],
  ])('a corpus file that is %s is refused', async (_, path) => {
    await expect(readCorpusFile(path)).rejects.toMatchObject({ code: 'corpus_not_readable', status: 400 });
  });
});

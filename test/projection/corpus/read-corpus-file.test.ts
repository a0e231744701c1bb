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
  it('reads texts and kinds in their order, past blank lines, byte order marks, Windows line ends and other fields', async () => {
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
    ['what is not JSON', '{"text": "a"}\n\nnot json', 3],
    ['an empty text', '{"text": "a"}\n{"text": " \\t"}', 2],
    ['a text that is no string', '{"text": 5}', 1],
    ['a line without a text', '{"texts": "a"}', 1],
    ['an unknown kind', '{"text": "a", "kind": "document"}', 1],
    ['a bare string', '{"text": "a"}\n"b"', 2],
    ['a text of the length of a book', `{"text": "${'a'.repeat(40_000)}"}`, 1],
    ['a file without texts', '\n\n', 1],
  ])('refuses %s and names the line', async (_, content, line) => {
    await expect(readCorpusFile(fileOf(content))).rejects.toMatchObject({
      code: 'corpus_invalid',
      status: 400,
      message: expect.stringContaining(`line ${line}:`),
    });
  });

  it('refuses more texts than the limit, and takes exactly as many', async () => {
    const line = '{"text":"a"}\n';
    expect(await readCorpusFile(fileOf(line.repeat(CORPUS_TEXTS_MAX)))).toHaveLength(CORPUS_TEXTS_MAX);
    await expect(readCorpusFile(fileOf(line.repeat(CORPUS_TEXTS_MAX + 1)))).rejects.toMatchObject({
      code: 'corpus_too_long',
    });
  });

  it.each([
    ['a file that is not there', join(dir, 'missing.jsonl')],
    ['a folder', dir],
    ['another encoding', fileOf(Uint8Array.from([0x7b, 0xb0, 0xa1]))],
  ])('refuses %s', async (_, path) => {
    await expect(readCorpusFile(path)).rejects.toMatchObject({ code: 'corpus_not_readable', status: 400 });
  });
});

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readCorpusData } from '../../../src/projection/corpus/corpus-data.ts';

const OWN = fileURLToPath(new URL('../../../src/projection/corpus/data', import.meta.url));

describe('readCorpusData', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'corpus-data-'));
    cpSync(OWN, dir, { recursive: true });
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const read = () => readCorpusData(pathToFileURL(`${dir}/`));
  const edit = (path: string, change: (text: string) => string) => {
    const file = join(dir, path);
    writeFileSync(file, change(readFileSync(file, 'utf8')));
  };

  it('domains are read in the order of their file names', () => {
    const names = read().domains.map(({ name }) => name);
    expect(names).toContain('customer-support');
    expect(names).toEqual(names.toSorted());
  });

  it.each<[string, string, (text: string) => string]>([
    ['a blank line', 'words/ko/concept.txt', (text) => `${text}\n`],
    ['space around a word', 'words/en/object.txt', (text) => text.replace('ladder', ' ladder')],
    ['a list that is not known', 'domains/retail.json', (text) => text.replace('"who"', '"whom"')],
    ['an amount without numbers', 'domains/retail.json', (text) => text.replace('2-90 euros off', 'some euros off')],
    ['a number for a word', 'forms/irregular-plurals.json', (text) => text.replace('"analyses"', '1')],
  ])('corpus data with %s are refused, and the error names the file', (_, path, change) => {
    edit(path, change);
    expect(read).toThrow(join(dir, path));
  });

  it('corpus data with a task without templates are refused', () => {
    rmSync(join(dir, 'templates/ko/howto.txt'));
    expect(read).toThrow(/howto/);
  });
});

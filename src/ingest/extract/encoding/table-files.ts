import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
// Read the files while the process still may, and parse them when a document needs them. Don't load iconv-lite's code,
// which takes 20 ms.
const BIG5 = readFileSync(require.resolve('iconv-lite/encodings/tables/big5-added.json'));
const CODE_PAGES = readFileSync(require.resolve('iconv-lite/encodings/sbcs-data-generated.js'));

/** Characters starting at a hexadecimal byte pair; a number stands for that many successors of the last one. */
export type Chunk = readonly [string, ...ReadonlyArray<string | number>];

/** Return the characters that Hong Kong added to Big5. */
export function big5Chunks(): readonly Chunk[] {
  return JSON.parse(BIG5.toString()) as readonly Chunk[];
}

/** Return the characters of the bytes 0x80 to 0xFF in a code page, or null for an unknown number. */
export function codePageCharacters(codePage: number): string | null {
  const entry = new RegExp(`"cp${codePage}": \\{\\s*"type": "_sbcs",\\s*"chars": ("[^"\\n]*")`).exec(
    CODE_PAGES.toString(),
  );
  const characters = entry === null ? '' : (JSON.parse(entry[1] as string) as string);
  return characters.length === 128 ? characters : null;
}

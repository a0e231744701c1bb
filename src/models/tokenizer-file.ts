import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { correctNormalizers } from './normalizers.ts';
import { type HuggingFaceTokenizer, Tokenizer } from './tokenizers-library.ts';
import type { CountText } from './tokens.ts';

/**
 * Length of the segments in which texts are tokenised. The library takes quadratic time for a run of unknown characters
 * in a Unigram model, and the patterns of a tokenizer may take longer. Any segment takes under 6 ms.
 */
const SEGMENT_CHARS_MAX = 1024;
/** Distance before the end of a segment within which to look for a word boundary. */
const SPACE_SOUGHT_CHARS = 256;

/** Fields that the library requires. Other fields depend on the tokenizer. */
const TokenizerFile = z.looseObject({
  model: z.looseObject({
    // Absent in old files. The library treats any other type as a separate format.
    type: z.enum(['BPE', 'WordPiece', 'Unigram']).optional(),
    // Don't validate entries, since there may be 250,000.
    vocab: z.custom<object>((vocab) => typeof vocab === 'object' && vocab !== null),
  }),
  added_tokens: z.array(z.looseObject({ id: z.int(), content: z.string() })).default([]),
  normalizer: z.unknown().default(null),
  pre_tokenizer: z.unknown().default(null),
  post_processor: z.unknown().default(null),
  decoder: z.unknown().default(null),
});

/**
 * Read a `tokenizer.json` of Hugging Face (https://huggingface.co/docs/tokenizers). The result gives the same tokens as
 * Python's `tokenizers` (test/local-models/tokens.test.ts).
 *
 * @throws the error of reading or parsing
 */
export async function readTokenizerFile(path: string): Promise<HuggingFaceTokenizer> {
  const tokenizer = new Tokenizer(TokenizerFile.parse(JSON.parse(await readFile(path, 'utf8'))), {});
  correctNormalizers(tokenizer);
  // Tokenise once, since the parts of a valid file may still be inconsistent.
  tokenizer.encode('a');
  return tokenizer;
}

/**
 * Load the counter of a `tokenizer.json`.
 *
 * @returns a function that counts the tokens of a text as the model sees it, including those that the tokenizer adds
 *   ([CLS], </s>). It tokenises a text of more than 1,024 characters in segments, cut between words. It cuts a segment
 *   without white space within a word and adds one token for each such cut, so that a cut never lowers the count
 * @throws what `readTokenizerFile` throws
 */
export async function loadTokenizerFile(path: string): Promise<CountText> {
  const tokenizer = await readTokenizerFile(path);
  const count = (text: string, whole: boolean): number =>
    tokenizer.encode(text, { add_special_tokens: whole }).ids.length;
  const specialTokens = count('a', true) - count('a', false);
  return (text, stopAfter) => {
    if (text.length <= SEGMENT_CHARS_MAX) return count(text, true);
    let tokens = specialTokens;
    for (const { segment, isCut } of segmentsOf(text)) {
      if (tokens > stopAfter) break;
      tokens += count(segment, false);
      if (isCut) tokens++;
    }
    return tokens;
  };
}

/** Cut a text into segments of bounded length. `isCut`: the cut after the segment is within a word. */
export function* segmentsOf(text: string): Generator<{ segment: string; isCut: boolean }> {
  for (let at = 0; at < text.length; ) {
    const end = segmentEnd(text, at);
    yield { segment: text.slice(at, end), isCut: end < text.length && !isSpace(text, end) };
    at = end;
  }
}

/** Return the end of a segment: before a space after a word if one is near, else at any character boundary. */
function segmentEnd(text: string, from: number): number {
  const end = from + SEGMENT_CHARS_MAX;
  if (end >= text.length) return text.length;
  for (let at = end; at > end - SPACE_SOUGHT_CHARS; at--) {
    if (isSpace(text, at) && !isSpace(text, at - 1)) return at;
  }
  const code = text.charCodeAt(end);
  return code >= 0xdc00 && code < 0xe000 ? end - 1 : end;
}

function isSpace(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

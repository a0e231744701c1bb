import { readFile } from 'node:fs/promises';
import { Tokenizer } from '@huggingface/tokenizers';
import { z } from 'zod';
import type { CountText } from './tokens.ts';

/**
 * Texts are tokenised in segments of this length. The library takes quadratic time over a run of unknown characters in
 * a Unigram model, and a tokenizer's own patterns may do worse; a segment takes under 6 ms whatever is in it.
 */
const SEGMENT_CHARS_MAX = 1024;
/** How far before that bound a place between words is looked for. */
const SPACE_SOUGHT_CHARS = 256;

/** What the library needs beyond doubt; the rest of the format is the tokenizer's own. */
const TokenizerFile = z.looseObject({
  model: z.looseObject({
    // Absent in old files. The library reads any other type as a format of its own.
    type: z.enum(['BPE', 'WordPiece', 'Unigram']).optional(),
    // Not looked into: it has a quarter of a million entries.
    vocab: z.custom<object>((vocab) => typeof vocab === 'object' && vocab !== null),
  }),
  added_tokens: z.array(z.looseObject({ id: z.int(), content: z.string() })).default([]),
  normalizer: z.unknown().default(null),
  pre_tokenizer: z.unknown().default(null),
  post_processor: z.unknown().default(null),
  decoder: z.unknown().default(null),
});

/**
 * Read a `tokenizer.json` of Hugging Face (https://huggingface.co/docs/tokenizers).
 * @returns a function that counts the tokens of a text, with those that the tokenizer puts around it ([CLS], </s>), as
 * the model sees it. A text of more than 1,024 characters is tokenised in parts, cut between words; where a part has
 * no white space it is cut within a word, and each such cut counts as one token more, so that none makes a text shorter.
 * @throws what reading or parsing threw
 */
export async function loadTokenizerFile(path: string): Promise<CountText> {
  const tokenizer = new Tokenizer(TokenizerFile.parse(JSON.parse(await readFile(path, 'utf8'))), {});
  const count = (text: string, whole: boolean): number =>
    tokenizer.encode(text, { add_special_tokens: whole }).ids.length;
  // A file that parses may still not tokenise: its parts need not fit each other.
  const around = count('a', true) - count('a', false);
  return (text, stopAfter) => {
    if (text.length <= SEGMENT_CHARS_MAX) return count(text, true);
    let tokens = around;
    for (let at = 0; at < text.length && tokens <= stopAfter; ) {
      const end = segmentEnd(text, at);
      tokens += count(text.slice(at, end), false);
      if (end < text.length && !isSpace(text, end)) tokens++;
      at = end;
    }
    return tokens;
  };
}

/** Before a space that follows a word, where there is one near; else anywhere but within a character. */
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

import type { TokenizerChoice } from './catalog.ts';
import { loadTokenizer, TokenizerFileError } from './tokenizers.ts';

export interface CountRequest {
  readonly tokenizer: TokenizerChoice;
  readonly texts: readonly string[];
  readonly stopAfter: number;
}

/** Result of a count. A fault of the tokenizer file is a value, since errors lose their fields between threads. */
export type CountReply = { readonly counts: number[] } | { readonly fault: string };

/** Count the tokens of each text on the calling thread, which keeps its tokenizer for the next call. */
export async function countOnThread({ tokenizer, texts, stopAfter }: CountRequest): Promise<CountReply> {
  try {
    const count = await loadTokenizer(tokenizer);
    return { counts: texts.map((text) => count(text, stopAfter)) };
  } catch (error) {
    if (error instanceof TokenizerFileError) return { fault: error.reason };
    throw error;
  }
}

import type { TokenizerChoice } from './catalog.ts';
import { loadTokenizer, TokenizerFileError } from './tokenizers.ts';

export interface CountRequest {
  readonly tokenizer: TokenizerChoice;
  readonly texts: readonly string[];
  readonly stopAfter: number;
}

/** An error's own fields do not survive the way back from a thread, so a fault of the file is told by a value. */
export type CountReply = { readonly counts: number[] } | { readonly fault: string };

/** Tokens of each text, on the thread that runs this. The thread keeps its tokenizer for the next call. */
export async function countOnThread({ tokenizer, texts, stopAfter }: CountRequest): Promise<CountReply> {
  try {
    const count = await loadTokenizer(tokenizer);
    return { counts: texts.map((text) => count(text, stopAfter)) };
  } catch (error) {
    if (error instanceof TokenizerFileError) return { fault: error.reason };
    throw error;
  }
}

import type { TokenizerChoice } from '../models/catalog.ts';
import { loadTokenizer, TokenizerFileError } from '../models/tokenizers.ts';
import { tokenUpperBound } from '../models/tokens.ts';
import { unpackChunk } from './input.ts';

/** Multiple of the model's token limit at which token counting of a text stops. */
const COUNTED_LIMITS = 4;

/** Token limit of a model that may embed the texts. */
export interface TokenCheck {
  readonly tokenizer: TokenizerChoice;
  readonly tokensMax: number;
  /** Prefix that the model requires before every text. */
  readonly prefix: string;
}

export interface TokenCheckRequest {
  readonly chunks: readonly Uint8Array[];
  /** Index of the first text within the whole input. */
  readonly firstIndex: number;
  /** Checks of all models. The first model's counts are returned. */
  readonly checks: readonly TokenCheck[];
}

/** Result of a check. Faults are plain values, since errors lose their fields between threads. */
export type TokenCheckReply =
  /** Number of tokens per text. */
  | { readonly tokens: Uint32Array }
  /** `check`: index of the model for which the text is too long. */
  | { readonly tooLong: { readonly index: number; readonly tokens: number; readonly check: number } }
  /** A tokenizer file is unusable; `fault` is the reason. */
  | { readonly fault: string; readonly check: number };

/**
 * Count the tokens of packed texts, and find the first text that is too long. Runs on a thread, since it takes at least
 * 15 ms per megabyte.
 */
export async function checkTokens({ chunks, firstIndex, checks }: TokenCheckRequest): Promise<TokenCheckReply> {
  const counters = [];
  for (const [check, { tokenizer }] of checks.entries()) {
    try {
      counters.push(await loadTokenizer(tokenizer));
    } catch (error) {
      if (error instanceof TokenizerFileError) return { fault: error.reason, check };
      throw error;
    }
  }
  const counted: number[] = [];
  let texts = 0;
  for (const chunk of chunks) {
    for (const text of unpackChunk(chunk)) {
      for (const [check, { tokenizer, tokensMax, prefix }] of checks.entries()) {
        const sent = prefix + text;
        // A `tokenizer.json` may lengthen a text by normalisation. Otherwise the bytes bound the tokens.
        if (check > 0 && tokenizer.kind !== 'file' && tokenUpperBound(sent) <= tokensMax) continue;
        const tokens = counters[check]?.(sent, tokensMax * COUNTED_LIMITS) ?? 0;
        if (tokens > tokensMax) return { tooLong: { index: firstIndex + texts, tokens, check } };
        if (check === 0) counted.push(tokens);
      }
      texts++;
    }
  }
  return { tokens: Uint32Array.from(counted) };
}

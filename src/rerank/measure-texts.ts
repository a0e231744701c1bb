import type { InstalledModel } from '../models/catalog.ts';
import type { TokenCounters } from '../models/count-tokens.ts';
import { AppError } from '../platform/errors.ts';

/** Token counts of a query and of each text. */
export interface TextTokens {
  readonly ofQuery: number;
  readonly ofTexts: readonly number[];
}

/** Stand-in for an unknown model limit, above any count. */
const TOKENS_MAX = 10_000_000;

/** Count tokens with the tokenizer of an installed model. Estimate them for a vendor's model. */
export async function tokensOfTexts(
  counters: TokenCounters,
  id: string,
  installed: InstalledModel | null,
  { query, texts }: { readonly query: string; readonly texts: readonly string[] },
  signal: AbortSignal,
): Promise<TextTokens> {
  const model = {
    id,
    tokenizer: installed?.tokenizer ?? ({ kind: 'estimate' } as const),
    maxTokens: installed?.maxTokens ?? TOKENS_MAX,
  };
  const [ofQuery = 0, ...ofTexts] = await counters.count(model, [query, ...texts], signal);
  return { ofQuery, ofTexts };
}

/**
 * Refuse a text that doesn't fit into a local model together with the query.
 *
 * @throws AppError `token_limit_exceeded` (400, param `input[i]`)
 */
export function refuseLongTexts({ name, maxTokens }: InstalledModel, { ofQuery, ofTexts }: TextTokens): void {
  for (const [index, own] of ofTexts.entries()) {
    const tokens = ofQuery + own;
    if (tokens <= maxTokens) continue;
    const place = `input[${index}]`;
    throw new AppError({
      code: 'token_limit_exceeded',
      status: 400,
      param: place,
      message: `${place} and the query have ${tokens} tokens; ${name} takes at most ${maxTokens}; shorten the text`,
      details: { max_tokens: maxTokens },
    });
  }
}

/** Truncate each text to about `tokensMax` tokens, assuming that all its tokens have the same length. */
export function cutTexts(texts: readonly string[], { ofTexts }: TextTokens, tokensMax: number): string[] {
  return texts.map((text, index) => {
    const tokens = ofTexts[index] as number;
    if (tokens <= tokensMax) return text;
    const end = Math.max(1, Math.floor((text.length * tokensMax) / tokens));
    // Don't split a surrogate pair.
    return text.slice(0, isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : end);
  });
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

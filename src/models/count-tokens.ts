import { AppError, invalidSettings } from '../platform/errors.ts';
import { yieldToEventLoop } from '../platform/event-loop.ts';
import type { Threads } from '../platform/threads.ts';
import type { Model } from './catalog.ts';
import { CL100K_TOKEN_BYTES_MAX } from './cl100k.ts';
import type { CountReply, CountRequest } from './count-on-thread.ts';
import { loadedTokenizer, loadTokenizer, TokenizerFileError } from './tokenizers.ts';
import { tokenUpperBound } from './tokens.ts';

/**
 * Maximum characters to count inline, in less than about 10 ms even for the slowest texts. Longer texts go to a worker
 * thread.
 */
const INLINE_CHARS_MAX = { estimate: 131_072, cl100k: 8192, file: 2048 } as const;
/** Multiple of the model's limit up to which counts are exact. */
const COUNTED_LIMITS = 4;
const COUNT_MODULE = new URL('./count-on-thread.ts', import.meta.url);

/** Parts of a model that affect its token counts. */
type CountedModel = Pick<Model, 'id' | 'tokenizer' | 'maxTokens'>;

/** Counts tokens by each model's catalog entry: with the vendor's vocabulary, a `tokenizer.json`, or an estimate. */
export interface TokenCounters {
  /**
   * Count the tokens of each text: immediately if the work is small and the tokenizer is loaded, else on a worker
   * thread or after reading the vocabulary. Unless it is an estimate, a count is exact up to 4 times the model's limit.
   * For a longer text, it may be any larger number.
   *
   * @throws AppError `config_invalid` (500) for a missing or broken tokenizer file; the signal's reason
   */
  count(
    model: CountedModel,
    texts: readonly string[],
    signal?: AbortSignal,
  ): readonly number[] | Promise<readonly number[]>;
  /**
   * Load the tokenizers of these models into this process, so that small texts are counted immediately. Parsing a
   * `tokenizer.json` blocks the event loop (0.4 s for 250,000 tokens), so call this before listening. Without this
   * call, models with a file are always counted on a worker thread.
   *
   * @throws AppError `config_invalid` (500) for a missing or broken tokenizer file
   */
  prepare(models: readonly Model[]): Promise<void>;
}

/** Known token counts of texts, in the order of the texts. */
export interface CountedTokens {
  /** Model of these counts, which include its text prefix. */
  readonly model: string;
  readonly tokens: readonly number[];
}

/** Create a counter of texts with known token counts. */
export function knownTokens(
  texts: readonly string[],
  tokens: readonly number[],
): { count(model: CountedModel, some: readonly string[]): readonly number[] } {
  const known = new Map(texts.map((text, index) => [text, tokens[index] as number]));
  return { count: (_, some) => some.map((text) => known.get(text) as number) };
}

export function openTokenCounters(threads: Threads): TokenCounters {
  return {
    count(model, texts, signal) {
      signal?.throwIfAborted();
      const { tokenizer } = model;
      const stopAfter = countedMax(model);
      if (charsOf(texts) > INLINE_CHARS_MAX[tokenizer.kind]) return countOnThread(threads, model, texts, signal);
      const count = loadedTokenizer(tokenizer);
      if (count) return texts.map((text) => count(text, stopAfter));
      // This vocabulary is read with event-loop yields, but a tokenizer file is parsed without any.
      if (tokenizer.kind === 'file') return countOnThread(threads, model, texts, signal);
      return loadTokenizer(tokenizer).then((loaded) => texts.map((text) => loaded(text, stopAfter)));
    },
    async prepare(models) {
      for (const model of models) {
        await loadTokenizer(model.tokenizer).catch((error: unknown) => {
          throw error instanceof TokenizerFileError ? tokenizerInvalid(model, error.reason, error) : error;
        });
      }
    },
  };
}

/**
 * Count the tokens of each text on the event loop, in slices of at most about 10 ms. For a job, this saves the memory
 * of a tokenizer on every thread; only long texts still go to one.
 *
 * @throws what `count` throws
 */
export async function countInSlices(
  counters: Pick<TokenCounters, 'count'>,
  model: CountedModel,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly number[]> {
  const counts: number[] = [];
  for (let from = 0; from < texts.length; ) {
    if (from > 0) await yieldToEventLoop();
    let to = from;
    for (let chars = 0; to < texts.length; to++) {
      chars += (texts[to] as string).length;
      if (to > from && chars > INLINE_CHARS_MAX[model.tokenizer.kind]) break;
    }
    counts.push(...(await counters.count(model, texts.slice(from, to), signal)));
    from = to;
  }
  return counts;
}

/**
 * Refuse a text that is too long for the model. Count only texts that may be too long: the number of UTF-8 bytes bounds
 * the number of tokens, except with a `tokenizer.json`, whose normaliser may lengthen a text.
 *
 * @param options.indexes position of each text in the request, for the error; by default its position in the list
 * @param options.asked model that the caller named, which may accept less than the embedding model `model`
 * @returns tokens of each counted text; null for the others
 * @throws AppError `token_limit_exceeded` (400, param `input[i]`); what `count` throws
 */
export async function checkTokenLimit(
  counters: Pick<TokenCounters, 'count'>,
  model: Model,
  texts: readonly string[],
  options: { indexes?: readonly number[]; asked?: Model; signal?: AbortSignal } = {},
): Promise<(number | null)[]> {
  const limiting = limitingModel(options.asked ?? model, model);
  const candidates: number[] = [];
  for (const [at, text] of texts.entries()) {
    if (model.tokenizer.kind === 'file' || tokenUpperBound(text) > limiting.maxTokens) candidates.push(at);
    if (tokenLowerBound(model, text) > countedMax(model)) refuse(at, Number.POSITIVE_INFINITY);
  }
  const found: (number | null)[] = texts.map(() => null);
  if (candidates.length === 0) return found;
  const candidateTexts = candidates.map((at) => texts[at] as string);
  const counts = await counters.count(model, candidateTexts, options.signal);
  for (const [nth, at] of candidates.entries()) {
    const tokens = counts[nth] as number;
    if (tokens > limiting.maxTokens) refuse(at, tokens);
    found[at] = tokens;
  }
  return found;

  function refuse(at: number, tokens: number): never {
    const place = `input[${options.indexes?.[at] ?? at}]`;
    const size = tokens > countedMax(model) ? `more than ${countedMax(model)}` : sizeOf(tokens, model);
    throw tokenLimitExceeded(limiting, place, size);
  }
}

/** Return a cheap upper bound of the tokens of each text, or null for a tokenizer without such a bound. */
export function tokenBounds(model: Model, texts: readonly string[]): number[] | null {
  return model.tokenizer.kind === 'cl100k' ? texts.map(tokenUpperBound) : null;
}

/** Choose the model with the lower limit, since an alias may have backends with a higher limit than its own. */
export function limitingModel(asked: Model, model: Model): Model {
  return asked.maxTokens < model.maxTokens ? asked : model;
}

/** Describe a number of tokens that a model's tokenizer counted. */
export function sizeOf(tokens: number, { tokenizer }: Pick<Model, 'tokenizer'>): string {
  return tokenizer.kind === 'estimate' ? `about ${tokens}` : String(tokens);
}

/**
 * Create the error for a text that is too long.
 *
 * @param limiting model whose limit it exceeds
 * @param place text in the request: `input[3]`
 * @param size its tokens: `9000`, `about 9000`
 */
export function tokenLimitExceeded(limiting: Model, place: string, size: string): AppError {
  const { id, maxTokens } = limiting;
  return new AppError({
    code: 'token_limit_exceeded',
    status: 400,
    param: place,
    message: `${place} has ${size} tokens; ${id} takes at most ${maxTokens}; shorten or split the text`,
    details: { max_tokens: maxTokens },
  });
}

function countedMax(model: CountedModel): number {
  return model.maxTokens * COUNTED_LIMITS;
}

/** Return a lower bound of the tokens of a text, to refuse a text far too long without counting. */
function tokenLowerBound(model: Model, text: string): number {
  return model.tokenizer.kind === 'cl100k' ? tokenUpperBound(text) / CL100K_TOKEN_BYTES_MAX : 0;
}

function charsOf(texts: readonly string[]): number {
  let chars = 0;
  for (const text of texts) chars += text.length;
  return chars;
}

async function countOnThread(
  threads: Threads,
  model: CountedModel,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly number[]> {
  const request: CountRequest = { tokenizer: model.tokenizer, texts, stopAfter: countedMax(model) };
  const reply = await threads.run<CountReply>(COUNT_MODULE, 'countOnThread', request, signal ? { signal } : {});
  if ('fault' in reply) throw tokenizerInvalid(model, reply.fault);
  return reply.counts;
}

function tokenizerInvalid(model: CountedModel, reason: string, cause?: unknown): AppError {
  const path = model.tokenizer.kind === 'file' ? model.tokenizer.path : model.tokenizer.kind;
  return invalidSettings([`models: the tokenizer of ${model.id}, ${path}, ${reason}`], cause);
}

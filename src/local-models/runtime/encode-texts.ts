import { readTokenizerFile, segmentsOf } from '../../models/tokenizer-file.ts';
import type { HuggingFaceTokenizer } from '../../models/tokenizers-library.ts';

/** Tokens of a text, or of a query-text pair. */
export interface EncodedText {
  readonly ids: readonly number[];
  /** Position from which tokens have the second type, that of the text in a pair. */
  readonly secondFrom: number;
}

/** Maximum parts of a long text. The rest is ignored. */
const PARTS_MAX = 64;
/**
 * Maximum characters to tokenise at once. Longer texts are tokenised in segments, since some tokenizers take quadratic
 * time.
 */
const WHOLE_CHARS_MAX = 8192;

/** Special tokens before, between and after texts. */
interface Template {
  readonly before: readonly number[];
  readonly after: readonly number[];
}

/** Encodes texts as a model's tokens, with special tokens, truncated to its length. */
export class TextEncoder {
  readonly #tokenizer: HuggingFaceTokenizer;
  readonly #maxTokens: number;
  readonly #padId: number;
  readonly #single: Template;
  readonly #pair: Template & { readonly between: readonly number[] };
  /** Special tokens between the texts of a pair that have the first type. */
  readonly #firstBetween: number;

  private constructor(tokenizer: HuggingFaceTokenizer, maxTokens: number, padId: number) {
    this.#tokenizer = tokenizer;
    this.#maxTokens = maxTokens;
    this.#padId = padId;
    const probe = this.#tokensOf('a');
    const { ids } = tokenizer.encode('a');
    const at = find(ids, probe, 0);
    this.#single = { before: ids.slice(0, at), after: ids.slice(at + probe.length) };
    const pair = tokenizer.encode('a', { text_pair: 'a', return_token_type_ids: true });
    const first = find(pair.ids, probe, 0);
    const second = find(pair.ids, probe, first + probe.length);
    const between = pair.ids.slice(first + probe.length, second);
    this.#pair = { before: pair.ids.slice(0, first), between, after: pair.ids.slice(second + probe.length) };
    const types = pair.token_type_ids ?? [];
    const firsts = types.slice(first + probe.length, second).filter((type) => type === 0);
    this.#firstBetween = types[second] === 1 ? firsts.length : Number.POSITIVE_INFINITY;
  }

  /** @throws the error of reading or parsing */
  static async open(options: { tokenizer: string; maxTokens: number; padId: number }): Promise<TextEncoder> {
    return new TextEncoder(await readTokenizerFile(options.tokenizer), options.maxTokens, options.padId);
  }

  encode(text: string): EncodedText {
    const { before, after } = this.#single;
    const room = Math.max(0, this.#maxTokens - before.length - after.length);
    const ids = [...before, ...this.#tokensOf(text).slice(0, room), ...after];
    return { ids: ids.length === 0 ? [this.#padId] : ids, secondFrom: Number.POSITIVE_INFINITY };
  }

  /** Encode a text in parts that fit into the model, each with special tokens around it. Most texts have one part. */
  encodeParts(text: string): EncodedText[] {
    const { before, after } = this.#single;
    const room = Math.max(1, this.#maxTokens - before.length - after.length);
    const tokens = this.#tokensOf(text, PARTS_MAX * room).slice(0, PARTS_MAX * room);
    const parts = Math.max(1, Math.ceil(tokens.length / room));
    // Make parts of equal length, so that there is no short remainder.
    const length = Math.ceil(tokens.length / parts);
    return Array.from({ length: parts }, (_, nth) => {
      const ids = [...before, ...tokens.slice(nth * length, (nth + 1) * length), ...after];
      return { ids: ids.length === 0 ? [this.#padId] : ids, secondFrom: Number.POSITIVE_INFINITY };
    });
  }

  /**
   * Encode a query once for all texts to compare it with. Truncate the query to half the length, and the text to the
   * rest.
   */
  encodePairs(query: string): (text: string) => EncodedText {
    const { before, between, after } = this.#pair;
    const room = Math.max(2, this.#maxTokens - before.length - between.length - after.length);
    const head = [...before, ...this.#tokensOf(query).slice(0, Math.floor(room / 2)), ...between];
    const textRoom = room - (head.length - before.length - between.length);
    return (text) => ({
      ids: [...head, ...this.#tokensOf(text).slice(0, textRoom), ...after],
      secondFrom: head.length - between.length + this.#firstBetween,
    });
  }

  /** Return the tokens of a text without special tokens. Replace lone surrogates by U+FFFD, as UTF-8 encoding does. */
  #tokensOf(text: string, needed = this.#maxTokens): number[] {
    const whole = text.toWellFormed();
    const encode = (part: string) => this.#tokenizer.encode(part, { add_special_tokens: false }).ids;
    if (whole.length <= WHOLE_CHARS_MAX) return encode(whole);
    const ids: number[] = [];
    for (const { segment } of segmentsOf(whole)) {
      ids.push(...encode(segment));
      if (ids.length >= needed) break;
    }
    return ids;
  }
}

/** @returns the position of `part` in `ids`, or the end if it doesn't occur */
function find(ids: readonly number[], part: readonly number[], from: number): number {
  for (let at = from; at + part.length <= ids.length; at++) {
    if (part.every((id, nth) => ids[at + nth] === id)) return at;
  }
  return ids.length;
}

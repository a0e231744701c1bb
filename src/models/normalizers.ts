import { type Charsmap, readCharsmap } from './charsmap.ts';
import {
  BertNormalizer,
  type HuggingFaceTokenizer,
  LowercaseNormalizer,
  Normalizer,
  type NormalizerConfig,
  PrecompiledNormalizer,
  SequenceNormalizer,
  type TextNormalizer,
} from './tokenizers-library.ts';

/**
 * Replace the normalisers of a tokenizer that differ from those of Python's `tokenizers`, so that both give the same
 * tokens: a sigma at the end of a word, rare Han characters, and the rules of SentencePiece.
 *
 * @throws RangeError for a truncated table of rules
 */
export function correctNormalizers(tokenizer: HuggingFaceTokenizer): void {
  tokenizer.normalizer = corrected(tokenizer.normalizer);
}

function corrected(normalizer: TextNormalizer | null): TextNormalizer | null {
  if (normalizer === null) return null;
  if (normalizer instanceof SequenceNormalizer) normalizer.normalizers = normalizer.normalizers.map(corrected);
  const { config } = normalizer;
  const isOf = (type: typeof Normalizer): boolean => normalizer instanceof type;
  if (isOf(BertNormalizer)) return new CorrectBert(config);
  if (isOf(LowercaseNormalizer)) return new CorrectLowercase(config);
  if (!isOf(PrecompiledNormalizer) || !config.precompiled_charsmap) return normalizer;
  return new CorrectPrecompiled(config, readCharsmap(config.precompiled_charsmap));
}

class CorrectBert extends BertNormalizer {
  override normalize(text: string): string {
    return super.normalize(this.config.lowercase ? plainSigma(text) : text);
  }

  override tokenize_chinese_chars(text: string): string {
    return text.replace(HAN, ' $& ');
  }
}

/** Blocks of Han characters that BERT separates by spaces, including those outside the basic plane. */
const HAN =
  /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu;

class CorrectLowercase extends LowercaseNormalizer {
  override normalize(text: string): string {
    return super.normalize(plainSigma(text));
  }
}

/** Keep a sigma at the end of a word plain, as the reference does. JavaScript converts it to the final form. */
function plainSigma(text: string): string {
  return text.replaceAll('Σ', 'σ');
}

/** Run of printable ASCII, without a last character that might be followed by a mark. */
const ASCII_RUN = /[\x20-\x7e]+(?=[\x20-\x7e\r\n]|$)/g;
/** Graphemes with more bytes are normalised character by character. */
const GRAPHEME_BYTES_MAX = 5;

/** Rules of SentencePiece, applied to graphemes and then to their characters, as the reference does. */
class CorrectPrecompiled extends Normalizer {
  readonly #charsmap: Charsmap;
  readonly #keepsAscii: boolean;
  readonly #graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

  constructor(config: NormalizerConfig, charsmap: Charsmap) {
    super(config);
    this.#charsmap = charsmap;
    this.#keepsAscii = Array.from({ length: 95 }, (_, at) => String.fromCharCode(at + 0x20)).every(
      (char) => charsmap.find(char) === null,
    );
  }

  override normalize(text: string): string {
    if (!this.#keepsAscii) return this.#normalizeGraphemes(text);
    let normal = '';
    let at = 0;
    for (const { 0: run, index } of text.matchAll(ASCII_RUN)) {
      if (index > at) normal += this.#normalizeGraphemes(text.slice(at, index));
      normal += run;
      at = index + run.length;
    }
    return at < text.length ? normal + this.#normalizeGraphemes(text.slice(at)) : normal;
  }

  #normalizeGraphemes(text: string): string {
    let normal = '';
    for (const { segment } of this.#graphemes.segment(text)) {
      const whole = Buffer.byteLength(segment) <= GRAPHEME_BYTES_MAX ? this.#charsmap.find(segment) : null;
      if (whole !== null) normal += whole;
      else for (const char of segment) normal += this.#charsmap.find(char) ?? char;
    }
    return normal;
  }
}

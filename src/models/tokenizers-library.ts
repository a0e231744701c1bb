import * as library from '@huggingface/tokenizers';

// The package's type declarations import files without their extension, so the compiler does not find them. Declare the
// parts that we use.

/** Tokenizer of a `tokenizer.json`. */
export interface HuggingFaceTokenizer {
  normalizer: TextNormalizer | null;
  encode(
    text: string,
    options?: { text_pair?: string; add_special_tokens?: boolean; return_token_type_ids?: boolean },
  ): { ids: number[]; token_type_ids?: number[] };
}

/** Normaliser of texts. The library calls it as a function, which calls `normalize`. */
export interface TextNormalizer {
  readonly config: NormalizerConfig;
  normalize(text: string): string;
}

export interface NormalizerConfig {
  readonly lowercase?: boolean;
  readonly precompiled_charsmap?: string | null;
}

type NormalizerClass<Instance> = new (config: NormalizerConfig) => Instance;

interface Library {
  readonly Tokenizer: new (file: object, config: object) => HuggingFaceTokenizer;
  readonly Normalizer: NormalizerClass<TextNormalizer>;
  readonly BertNormalizer: NormalizerClass<TextNormalizer & { tokenize_chinese_chars(text: string): string }>;
  readonly LowercaseNormalizer: NormalizerClass<TextNormalizer>;
  readonly PrecompiledNormalizer: NormalizerClass<TextNormalizer>;
  readonly SequenceNormalizer: NormalizerClass<TextNormalizer & { normalizers: (TextNormalizer | null)[] }>;
}

export const { Tokenizer, Normalizer, BertNormalizer, LowercaseNormalizer, PrecompiledNormalizer, SequenceNormalizer } =
  library as unknown as Library;

import { writeFileSync } from 'node:fs';
import path from 'node:path';

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];

const NO_PARTS = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, added_tokens: [] };

const special = (id: number, content: string) => ({ id, content, special: true, normalized: false });

/** Post-processor that adds tokens as BERT does: [CLS] text [SEP]. */
function template(first: string, last: string) {
  return {
    type: 'TemplateProcessing',
    single: [
      { SpecialToken: { id: first, type_id: 0 } },
      { Sequence: { id: 'A', type_id: 0 } },
      { SpecialToken: { id: last, type_id: 0 } },
    ],
    pair: [],
    special_tokens: {
      [first]: { id: first, ids: [0], tokens: [first] },
      [last]: { id: last, ids: [1], tokens: [last] },
    },
  };
}

/** BPE tokenizer of letters with the merges l+o, lo+w, e+r: `low` is one token, `lower` two. */
export const BPE = {
  ...NO_PARTS,
  pre_tokenizer: { type: 'WhitespaceSplit' },
  model: {
    type: 'BPE',
    unk_token: '?',
    vocab: Object.fromEntries([...LETTERS, '?', 'lo', 'low', 'er'].map((token, id) => [token, id])),
    merges: [
      ['l', 'o'],
      ['lo', 'w'],
      ['e', 'r'],
    ],
  },
};

/**
 * WordPiece tokenizer with the parts `low` and `##er`; words with other characters are [UNK]. Every text gets [CLS] and
 * [SEP].
 */
export const WORD_PIECE = {
  ...NO_PARTS,
  added_tokens: [special(0, '[CLS]'), special(1, '[SEP]'), special(2, '[UNK]')],
  normalizer: {
    type: 'BertNormalizer',
    clean_text: true,
    handle_chinese_chars: true,
    strip_accents: null,
    lowercase: true,
  },
  pre_tokenizer: { type: 'BertPreTokenizer' },
  post_processor: template('[CLS]', '[SEP]'),
  model: {
    type: 'WordPiece',
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 100,
    vocab: Object.fromEntries(
      ['[CLS]', '[SEP]', '[UNK]', 'low', '##er', ...LETTERS, ...LETTERS.map((letter) => `##${letter}`)].map(
        (token, id) => [token, id],
      ),
    ),
  },
};

/** Unigram tokenizer of words with a space mark, Korean syllables and letters. Every text gets <s> and </s>. */
export const UNIGRAM = {
  ...NO_PARTS,
  added_tokens: [special(0, '<s>'), special(1, '</s>')],
  normalizer: { type: 'NFKC' },
  pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
  post_processor: template('<s>', '</s>'),
  model: {
    type: 'Unigram',
    unk_id: 2,
    vocab: [
      ['<s>', 0],
      ['</s>', 0],
      ['<unk>', 0],
      ['▁', -3],
      ['▁low', -4],
      ['er', -4],
      ['▁항구', -5],
      ['의', -5],
      ...LETTERS.map((letter) => [letter, -8]),
    ],
  },
};

/** Write a `tokenizer.json`. @returns its path */
export function writeTokenizer(folder: string, name: string, tokenizer: unknown): string {
  const file = path.join(folder, name);
  writeFileSync(file, typeof tokenizer === 'string' ? tokenizer : JSON.stringify(tokenizer));
  return file;
}

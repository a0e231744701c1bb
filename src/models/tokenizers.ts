import type { TokenizerChoice } from './catalog.ts';
import { loadCl100k } from './cl100k.ts';
import { loadTokenizerFile } from './tokenizer-file.ts';
import { type CountText, countTokens } from './tokens.ts';

/** Error of a missing or unusable `tokenizer.json`. */
export class TokenizerFileError extends Error {
  override readonly name = 'TokenizerFileError';
  readonly reason: string;

  constructor(reason: string, cause: unknown) {
    super(reason, { cause });
    this.reason = reason;
  }
}

/**
 * Tokenizers that this thread has loaded or is loading. A vocabulary takes 10 MB or more, so it is never loaded twice.
 */
const loading = new Map<string, Promise<CountText>>();
const loaded = new Map<string, CountText>([['estimate', countTokens]]);

/** Return a tokenizer, or null until `loadTokenizer` has loaded it on this thread. */
export function loadedTokenizer(choice: TokenizerChoice): CountText | null {
  return loaded.get(keyOf(choice)) ?? null;
}

/** Load a tokenizer on this thread. @throws TokenizerFileError; the next call reads the file again */
export function loadTokenizer(choice: TokenizerChoice): Promise<CountText> {
  const key = keyOf(choice);
  const known = loading.get(key);
  if (known) return known;
  const started = load(choice).then((count) => {
    loaded.set(key, count);
    return count;
  });
  loading.set(key, started);
  started.catch(() => loading.delete(key));
  return started;
}

function keyOf(choice: TokenizerChoice): string {
  return choice.kind === 'file' ? `file:${choice.path}` : choice.kind;
}

async function load(choice: TokenizerChoice): Promise<CountText> {
  if (choice.kind === 'estimate') return countTokens;
  if (choice.kind === 'cl100k') return loadCl100k();
  try {
    return await loadTokenizerFile(choice.path);
  } catch (cause) {
    throw new TokenizerFileError(
      isMissing(cause) ? 'does not exist; check its path' : 'is not a valid tokenizer.json; replace the file',
      cause,
    );
  }
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
}

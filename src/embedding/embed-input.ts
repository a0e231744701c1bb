import type { EmbeddedTexts, Embedder, EmbedRequest } from './embedder.ts';
import { nameOnlyText } from './name-field.ts';
import type { EmbeddingsRequest } from './schema.ts';

type Input = EmbeddingsRequest['input'];

export function textsOf(input: Input): readonly string[] {
  return typeof input === 'string' ? [input] : input;
}

/**
 * Embed an input: one text or a list of texts. Errors refer to a list item as `input[3]`, and to a single text as
 * `input`.
 *
 * @throws AppError of `Embedder.embed`
 */
export async function embedInput(
  embedder: Embedder,
  input: Input,
  request: Omit<EmbedRequest, 'texts'>,
): Promise<EmbeddedTexts> {
  try {
    return await embedder.embed({ ...request, texts: textsOf(input) });
  } catch (error) {
    throw typeof input === 'string' ? nameOnlyText(error) : error;
  }
}

import type { EmbeddedTexts } from '../embedding/embedder.ts';
import { AppError } from '../platform/errors.ts';
import { freeMemory } from '../platform/free-memory.ts';
import type { ChunkFacts, StoredChunk } from './chunk-object.ts';
import type { RequestFault } from './progress-store.ts';

/** Codes of errors caused by the texts of a call. Any other error may be temporary. */
const REFUSALS = new Set(['token_limit_exceeded', 'upstream_rejected']);

/**
 * Embed the texts of a chunk. If the model refuses a text, give it a fault and embed the others without it. If the
 * error doesn't name the text, find it by bisection.
 * @param embed embeds texts into `space`, or into any space if null
 * @throws AppError for a failure that isn't a refusal of a text
 */
export async function embedTexts(
  texts: readonly string[],
  chunk: { readonly hash: string; readonly dimensions: number },
  embed: (texts: readonly string[], space: string | null) => Promise<EmbeddedTexts>,
): Promise<StoredChunk> {
  const { hash, dimensions } = chunk;
  const vectors = new Float32Array(texts.length * dimensions);
  const tokens = new Array<number>(texts.length).fill(0);
  const faults: [number, RequestFault][] = [];
  const used = new Map<string, { model: string; texts: number; tokens: number }>();
  const models = new Set<string>();
  let space: string | null = null;
  let cost = 0;

  const place = (rows: readonly number[], embedded: EmbeddedTexts) => {
    for (const [index, row] of rows.entries()) {
      vectors.set(embedded.vectors.subarray(index * dimensions, (index + 1) * dimensions), row * dimensions);
      tokens[row] = embedded.textTokens[index] as number;
    }
    for (const each of embedded.used) {
      const sum = used.get(each.model) ?? { model: each.model, texts: 0, tokens: 0 };
      used.set(each.model, { ...sum, texts: sum.texts + each.texts, tokens: sum.tokens + each.tokens });
    }
    models.add(embedded.model);
    space = embedded.space;
    cost += embedded.cost;
    freeMemory(embedded.vectors);
  };
  const pending: number[][] = [texts.map((_, row) => row)];
  for (let rows = pending.pop(); rows !== undefined; rows = pending.pop()) {
    const own = rows;
    try {
      place(
        own,
        await embed(
          own.map((row) => texts[row] as string),
          space,
        ),
      );
    } catch (error) {
      if (!(error instanceof AppError) || !REFUSALS.has(error.code)) throw error;
      const index = refusedIndex(error) ?? (own.length === 1 ? 0 : null);
      if (index === null) {
        const half = Math.ceil(own.length / 2);
        pending.push(own.slice(half), own.slice(0, half));
        continue;
      }
      faults.push([own[index] as number, faultOf(error)]);
      const rest = own.filter((_, other) => other !== index);
      if (rest.length > 0) pending.push(rest);
    }
  }
  faults.sort(([a], [b]) => a - b);
  const model = models.size === 0 ? null : [...models].join('+');
  const facts: ChunkFacts = { hash, dimensions, space, model, used: [...used.values()], cost, tokens, faults };
  return { facts, vectors };
}

/** Return the index of the refused text that the error names, or null. */
function refusedIndex({ param }: AppError): number | null {
  const digits = /^input\[(\d+)\]/.exec(param ?? '')?.[1];
  return digits === undefined ? null : Number(digits);
}

/** Describe a refusal without the text's position in the call. Rendering adds its position in the request. */
function faultOf({ code, status, message, param }: AppError): RequestFault {
  return { code, status, message: param === null ? message : message.replaceAll(param, 'input'), param: 'input' };
}

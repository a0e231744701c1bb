import { z } from 'zod';
import type { DocumentDetails, SearchReply, SearchResult } from '../../client/schema.ts';
import { AppError } from '../../platform/errors.ts';
import { markUntrusted } from '../../platform/mark-untrusted.ts';
import type { ToolContext, ToolReply } from '../tool.ts';
import { renderNotes } from './render-results.ts';
import { fitItems, type ResultItem } from './result-item.ts';

/** Maximum number of results that the API returns. */
export const TOP_K_MAX = 100;
/** Tokens of a result's marks, notes and frame. */
const FRAME_TOKENS = 200;

/** Arguments of every search, in addition to query and filters. */
export const AnswerArguments = {
  max_tokens: z.int().min(400).max(100_000).default(8_000).describe('size of the answer'),
  exclude_seen: z.boolean().optional().describe('leave out passages already shown in this session'),
  highlights: z.boolean().optional().describe('show only sentences with words of the query'),
};

/** Output of every search, as described to clients. */
export const SearchOutput = z.looseObject({
  results: z.array(z.looseObject({ id: z.string(), document_id: z.string(), text: z.string() })),
});

/**
 * Search, and build a tool result: with short ids, within the token budget, and on request without passages that the
 * client has seen.
 * @param search function that returns a given number of results
 * @param options.bucket bucket of results that don't name one
 */
export async function answerSearch(
  search: (topK: number) => Promise<SearchReply>,
  options: {
    readonly top_k: number;
    readonly max_tokens: number;
    readonly exclude_seen?: boolean | undefined;
    readonly bucket: string;
  },
  context: ToolContext,
): Promise<ToolReply & { structured: z.input<typeof SearchOutput> }> {
  const { results } = context;
  const seen = options.exclude_seen === true ? results.listSeen() : new Set<string>();
  const reply = await search(Math.min(options.top_k + seen.size, TOP_K_MAX));
  const { results: found, relevance, relevance_score, corrected, warnings } = reply;
  const unseen = found.filter(({ id }) => !seen.has(id)).slice(0, options.top_k);
  const details = await detailsOf(unseen, context);
  const items = unseen.map((result): ResultItem => {
    const bucket = typeof result['bucket_id'] === 'string' ? result['bucket_id'] : options.bucket;
    return { id: results.remember(bucket, result), result, details: details.get(result.document_id) ?? null };
  });
  const { shown, structured, text, links } = fitItems(items, options.max_tokens - FRAME_TOKENS);
  results.markSeen(shown.map(({ result }) => result.id));
  const counts = {
    shown: shown.length,
    leftOut: items.length - shown.length,
    seen: found.filter(({ id }) => seen.has(id)).length,
  };
  const nothing = counts.seen === 0 ? 'Nothing was found.' : 'Nothing new was found.';
  const body = shown.length === 0 ? nothing : markUntrusted(text);
  return {
    structured: {
      results: structured,
      relevance,
      relevance_score,
      corrected,
      warnings,
      left_out: counts.leftOut,
      seen_left_out: counts.seen,
    },
    text: [body, ...renderNotes(reply, counts)].join('\n\n'),
    links,
  };
}

/** Fetch the details of the results' documents. Without them, the tool result doesn't show document lengths. */
async function detailsOf(
  results: readonly SearchResult[],
  { api, signal }: ToolContext,
): Promise<ReadonlyMap<string, DocumentDetails>> {
  const ids = [...new Set(results.map(({ document_id: id }) => id))];
  if (ids.length === 0) return new Map();
  try {
    return new Map((await api.findDocuments(ids, signal)).map((document) => [document.id, document]));
  } catch (error) {
    // Earlier releases of the API don't list documents by id.
    if (error instanceof AppError) return new Map();
    throw error;
  }
}

import { z } from 'zod';
import type { DocumentChunks } from '../../client/schema.ts';
import { conflict, invalidRequest } from '../../platform/errors.ts';
import { MARKS_RULE, markUntrusted } from '../../platform/mark-untrusted.ts';
import { defineTool, READ_ONLY, type Tool, type ToolContext } from '../tool.ts';
import { resolveDocument } from './resolve-id.ts';
import { endWithin, renderRuns, runsOf, startWithin, type TextRun } from './text-runs.ts';
import { tokensOf } from './token-budget.ts';

/** Tokens of a result's marks, notes and frame. */
const FRAME_TOKENS = 220;
/** Assumed tokens per chunk. Most chunks have more, but reading chunks beyond the budget would be wasted. */
const CHUNK_TOKENS = 100;
const CHUNKS_MAX = 99;

const Arguments = z.object({
  id: z.string().min(1).max(256).describe('id of a result, such as r1, or of a document'),
  page: z.int().min(1).optional(),
  section: z.string().min(1).max(500).optional().describe('heading, or part of one; reads only this section'),
  offset: z.int().min(0).optional().describe('character to read on from'),
  direction: z.enum(['around', 'before', 'after']).optional(),
  max_tokens: z.int().min(400).max(50_000).default(2_000),
});
type Arguments = z.output<typeof Arguments>;

const Output = z.looseObject({ document_id: z.string(), text: z.string() });

/** Create the tool `service_read_document`. */
export function readTools(): Tool[] {
  return [
    defineTool({
      name: 'service_read_document',
      title: 'Read a document',
      description:
        'Read a document from its start, a page, a section or a character, or the text around a result. ' +
        `The answer says how to read on. ${MARKS_RULE}`,
      input: Arguments,
      output: Output,
      annotations: READ_ONLY,
      route: 'GET /v1/documents/{document}/chunks',
      call: readDocument,
    }),
  ];
}

async function readDocument(args: Arguments, context: ToolContext) {
  const { id, page, section, offset, max_tokens: maxTokens } = args;
  if ([page, section, offset].filter((place) => place !== undefined).length > 1) {
    throw invalidRequest('page, section and offset: give only one of them', 'offset');
  }
  const { documentId, found } = resolveDocument(context.results, id);
  const isAtResult = found !== null && page === undefined && section === undefined && offset === undefined;
  const direction = args.direction ?? (isAtResult ? 'around' : 'after');
  const chunks = Math.min(Math.ceil(maxTokens / CHUNK_TOKENS), CHUNKS_MAX);
  const reply = await context.api.readChunks(
    documentId,
    {
      ...(isAtResult ? { first: found.result.chunk_index } : { page, heading: section, offset }),
      before: direction === 'after' ? 0 : chunks,
      count: direction === 'around' ? 2 * chunks + 1 : chunks + 1,
    },
    context.signal,
  );
  const center = isAtResult ? passageIn(reply, found.result.id) : pointIn(reply);
  const runs = section === undefined ? runsOf(reply.chunks) : sectionOf(runsOf(reply.chunks), reply, direction);
  const budget = maxTokens - FRAME_TOKENS;
  const range = rangeAround(runs, center, { budget, direction });
  return answer(args, { reply, runs, range, context });
}

interface TextRange {
  readonly start: number;
  readonly end: number;
}

function passageIn(reply: DocumentChunks, chunkId: string): TextRange {
  const chunk = reply.chunks.find((each) => each.id === chunkId);
  if (chunk === undefined) {
    throw conflict('id: the document has changed since the search; search again', 'result_outdated');
  }
  return chunk.locator;
}

/** Return the requested place, or the start of the text. */
function pointIn({ place, chunks }: DocumentChunks): TextRange {
  const start = place?.start ?? chunks[0]?.locator.start ?? 0;
  return { start, end: start };
}

/** Select the runs of the requested section. Text before the section isn't in it. */
function sectionOf(runs: readonly TextRun[], { place }: DocumentChunks, direction: string): TextRun[] {
  if (place === undefined || direction === 'before') return [...runs];
  const first = runs.findIndex(({ end }) => end > place.start);
  const isWithin = (run: TextRun) => place.heading_path.every((heading, depth) => run.headingPath[depth] === heading);
  const next = runs.findIndex((run, nth) => nth > first && !isWithin(run));
  return runs.slice(first, next < 0 ? undefined : next);
}

/** Choose the text to show: the passage itself, and text on the requested sides. */
function rangeAround(
  runs: readonly TextRun[],
  { start, end }: TextRange,
  { budget, direction }: { readonly budget: number; readonly direction: 'around' | 'before' | 'after' },
): TextRange {
  if (direction === 'before') return { start: startWithin(runs, start, budget), end: start };
  if (direction === 'after') return { start: end, end: endWithin(runs, end, budget) };
  const own = endWithin(runs, start, budget);
  if (own < end) return { start, end: own };
  const left = budget - tokensOf(renderRuns(runs, start, end));
  // Tokens that one side doesn't need are left for the other.
  const half = endWithin(runs, end, left / 2);
  const before = startWithin(runs, start, left - tokensOf(renderRuns(runs, end, half)));
  return { start: before, end: endWithin(runs, end, left - tokensOf(renderRuns(runs, before, start))) };
}

function answer(
  { id, section }: Arguments,
  read: {
    readonly reply: DocumentChunks;
    readonly runs: readonly TextRun[];
    readonly range: TextRange;
    readonly context: ToolContext;
  },
) {
  const { reply, runs, range, context } = read;
  const { file_name: fileName, chunks_count: chunksCount, url } = reply;
  const text = renderRuns(runs, range.start, range.end);
  const shown = reply.chunks.filter(({ locator }) => locator.end > range.start && locator.start < range.end);
  const [first, last] = [shown[0]?.chunk_index ?? 0, shown.at(-1)?.chunk_index ?? 0];
  const whole = shown.filter(({ locator }) => locator.start >= range.start && locator.end <= range.end);
  context.results.markSeen(whole.map((chunk) => chunk.id));
  const isMoreBefore = shown.length > 0 && (first > 0 || (shown[0]?.locator.start ?? 0) < range.start);
  const isMoreAfter = shown.length > 0 && (last < chunksCount - 1 || (shown.at(-1)?.locator.end ?? 0) > range.end);
  const isSectionEnd = section !== undefined && range.end >= (runs.at(-1)?.end ?? 0);
  const passages = `passages ${first + 1} to ${last + 1} of ${chunksCount}`;
  const notes = [
    ...(isMoreBefore ? [`earlier text: id "${id}", offset ${range.start}, direction "before"`] : []),
    ...(isMoreAfter ? [`${isSectionEnd ? 'after this section' : 'more text'}: id "${id}", offset ${range.end}`] : []),
    ...(shown.length > 0 && !isMoreAfter ? ['the document ends here'] : []),
  ].map((note) => `Note: ${note}`);
  return {
    structured: {
      document_id: reply.id,
      file_name: fileName,
      page_count: reply.page_count,
      chunks_count: chunksCount,
      url,
      text,
      start: range.start,
      end: range.end,
      next_offset: isMoreAfter ? range.end : null,
      is_more_before: isMoreBefore,
    },
    text: [
      shown.length === 0 ? 'There is no text here.' : markUntrusted(`${fileName} | ${passages}\n\n${text}`),
      ...notes,
    ].join('\n\n'),
    links: url === null ? [] : [{ uri: url, name: fileName }],
  };
}

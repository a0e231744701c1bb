import { z } from 'zod';
import type { DocumentChunk, DocumentChunks } from '../../client/schema.ts';
import { MARKS_RULE, markUntrusted } from '../../platform/mark-untrusted.ts';
import { defineTool, READ_ONLY, type Tool, type ToolContext } from '../tool.ts';
import { passageOf, placeOf } from './render-results.ts';
import { resolveDocument } from './resolve-id.ts';
import { tokensOf } from './token-budget.ts';

/** Tokens of a result's marks, notes and frame. */
const FRAME_TOKENS = 200;
const PASSAGES_MAX = 50;

const Arguments = z.object({
  id: z.string().min(1).max(256).describe('id of a document, or of a result in it'),
  find: z.string().trim().min(1).max(500).describe('words in any form; "phrases" in quotes as they are written'),
  from_passage: z.int().min(1).default(1),
  max_tokens: z.int().min(400).max(50_000).default(2_000),
});
type Arguments = z.output<typeof Arguments>;

const Output = z.looseObject({
  document_id: z.string(),
  passages: z.array(z.looseObject({ id: z.string(), text: z.string() })),
});

/** Create the tool `service_find_in_document`. */
export function findTools(): Tool[] {
  return [
    defineTool({
      name: 'service_find_in_document',
      title: 'Find words in a document',
      description:
        `Find words in one document. Returns sentences with their places and ids for ` +
        `service_read_document. ${MARKS_RULE}`,
      input: Arguments,
      output: Output,
      annotations: READ_ONLY,
      route: 'GET /v1/documents/{document}/chunks',
      call: findInDocument,
    }),
  ];
}

async function findInDocument(
  { id, find, from_passage: from, max_tokens: maxTokens }: Arguments,
  context: ToolContext,
) {
  const { documentId } = resolveDocument(context.results, id);
  const query = { find, first: from - 1, count: PASSAGES_MAX };
  const reply = await context.api.readChunks(documentId, query, context.signal);
  const { shown, next } = takeFitting(reply, maxTokens - FRAME_TOKENS, context);
  const { file_name: fileName, chunks_count: chunksCount, url, found = { chunks: 0, complete: false } } = reply;
  const notes = [
    ...(found.chunks > 0 && !found.complete ? ['no passage has all of the words; these have most of them'] : []),
    ...(next === null ? [] : [`${found.chunks} passages have them; more: from_passage ${next + 1}`]),
  ].map((note) => `Note: ${note}`);
  const body =
    shown.length === 0
      ? 'Nothing was found. Try fewer words or other ones, or service_search, which also finds meanings.'
      : markUntrusted([`${fileName} | ${chunksCount} passages`, ...shown.map(({ text }) => text)].join('\n\n'));
  return {
    structured: {
      document_id: reply.id,
      file_name: fileName,
      url,
      passages: shown.map(({ structured }) => structured),
      found: found.chunks,
      complete: found.complete,
      next_passage: next === null ? null : next + 1,
    },
    text: [body, ...notes].join('\n\n'),
    links: url === null || shown.length === 0 ? [] : [{ uri: url, name: fileName }],
  };
}

/** Render the first passages that fit into a number of tokens, but at least one. */
function takeFitting(reply: DocumentChunks, tokensMax: number, { results }: ToolContext) {
  const shown: ReturnType<typeof formsOf>[] = [];
  let [textTokens, structuredTokens] = [0, 0];
  for (const chunk of reply.chunks) {
    const forms = formsOf(results.remember(reply.bucket_id, resultOf(reply, chunk)), chunk);
    textTokens += tokensOf(forms.text);
    structuredTokens += tokensOf(JSON.stringify(forms.structured));
    if (shown.length > 0 && Math.max(textTokens, structuredTokens) > tokensMax) {
      return { shown, next: chunk.chunk_index };
    }
    shown.push(forms);
  }
  return { shown, next: reply.next };
}

function formsOf(id: string, chunk: DocumentChunk) {
  const { page, sheet, slide, heading_path } = chunk.locator;
  const text = passageOf(chunk);
  const place = [`[${id}] passage ${chunk.chunk_index + 1}`, ...placeOf(chunk.locator)].join(' | ');
  return {
    text: `${place}\n${text}`,
    structured: { id, passage: chunk.chunk_index + 1, page, sheet, slide, heading_path, text },
  };
}

/** Convert a found passage to a search result, so that later calls can refer to it. */
function resultOf({ id, file_name, url }: DocumentChunks, chunk: DocumentChunk) {
  return {
    id: chunk.id,
    document_id: id,
    chunk_index: chunk.chunk_index,
    text: chunk.text,
    score: 1,
    metadata: {},
    citation: { file_name, source_path: null, locator: chunk.locator, url },
  };
}

import { z } from 'zod';

/** Maximum number of documents per request, as for Cohere, Jina and Voyage. */
export const DOCUMENTS_MAX = 1_000;

/** Document given as an object with a `text` to rank. */
const DocumentObject = z.record(z.string(), z.unknown());
export type GivenDocument = string | z.output<typeof DocumentObject>;

const Documents = z
  .unknown()
  .superRefine((documents, context) => {
    const fault = faultOf(documents);
    if (fault) context.addIssue({ code: 'custom', ...fault });
  })
  .transform((documents) => documents as GivenDocument[])
  .meta({
    type: 'array',
    items: { oneOf: [{ type: 'string', minLength: 1 }, { type: 'object' }] },
    minItems: 1,
    maxItems: DOCUMENTS_MAX,
    description: 'texts, or objects whose `text` is ranked (or the fields of `rank_fields`)',
  });

const Count = z.int().min(1);

/** Body of `POST /v1/rerank` and `/v2/rerank`: the fields of Cohere, Jina and Voyage. Other fields are ignored. */
export const RerankRequest = z
  .object({
    model: z.string().min(1).max(200).optional().describe('a reranker of GET /v1/models; by default the first one'),
    query: z.string().min(1).max(8_000),
    documents: Documents,
    top_n: Count.optional().describe('number of results; by default all documents'),
    top_k: Count.optional().describe("Voyage's name of top_n"),
    return_documents: z.boolean().default(false).describe('true: return the document with each result'),
    rank_fields: z
      .array(z.string().min(1).max(200))
      .min(1)
      .max(20)
      // A repeated field would repeat the text of every document.
      .refine((fields) => new Set(fields).size === fields.length, { error: 'must not repeat a field', abort: true })
      .meta({ uniqueItems: true })
      .optional()
      .describe('fields of documents to rank by, in this order; by default text'),
    max_tokens_per_doc: Count.optional().describe('approximate number of tokens to read of each document'),
    max_doc_length: Count.optional().describe("Jina's name of max_tokens_per_doc"),
    truncation: z
      .boolean()
      .default(true)
      .describe('false: refuse documents that are too long; a reranker of Cohere always truncates them'),
  })
  .superRefine((body, context) => {
    const fault = (key: string, other: string) =>
      context.addIssue({ code: 'custom', path: [key], message: `differs from ${other}; send one of them` });
    if (body.top_k !== undefined && (body.top_n ?? body.top_k) !== body.top_k) fault('top_k', 'top_n');
    const { max_tokens_per_doc: tokens, max_doc_length: length } = body;
    if (length !== undefined && (tokens ?? length) !== length) fault('max_doc_length', 'max_tokens_per_doc');
    // Skip if a list itself is invalid, which has already been reported.
    if (faultOf(body.documents) !== null) return;
    const empty = body.documents.findIndex((document) => textOf(document, body.rank_fields) === '');
    if (empty === -1) return;
    const isText = typeof body.documents[empty] === 'string';
    const message = isText ? 'must not be empty' : `needs ${(body.rank_fields ?? ['text']).join(' or ')}`;
    context.addIssue({ code: 'custom', path: ['documents', empty], message });
  });
export type RerankRequest = z.output<typeof RerankRequest>;

const RankedDocument = {
  index: z.int().describe('position of the document in the request'),
  relevance_score: z.number().describe('0 to 1 with most rerankers; higher is better'),
};

/** Response that combines the shapes of Cohere and Jina (`results`) and Voyage (`data`). */
export const RerankResponse = z
  .object({
    id: z.string(),
    object: z.literal('list'),
    model: z.string().describe('reranker that scored the documents'),
    results: z.array(z.object({ ...RankedDocument, document: z.record(z.string(), z.unknown()).optional() })),
    data: z.array(z.object({ ...RankedDocument, document: z.string().optional() })),
    usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
    meta: z.object({
      api_version: z.object({ version: z.string() }),
      billed_units: z.object({ search_units: z.int().describe('one for each 100 documents') }),
      tokens: z.object({ input_tokens: z.int() }),
    }),
  })
  .meta({ id: 'Reranking' });
export type RerankResponse = z.output<typeof RerankResponse>;

/** Return the text to rank; '' if the document has none. */
export function textOf(document: GivenDocument, fields: readonly string[] = ['text']): string {
  if (typeof document === 'string') return document;
  return fields.flatMap((field) => scalarOf(document[field])).join('\n');
}

function scalarOf(value: unknown): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value];
  return typeof value === 'number' || typeof value === 'boolean' ? [String(value)] : [];
}

/** Find the first fault in a list of documents, or return null. */
function faultOf(documents: unknown): { path: number[]; message: string } | null {
  if (!Array.isArray(documents)) return { path: [], message: 'must be a list of strings or of objects with a text' };
  if (documents.length === 0) return { path: [], message: 'must have at least one document' };
  if (documents.length > DOCUMENTS_MAX) {
    return { path: [], message: `takes up to ${DOCUMENTS_MAX} documents; rank them in several requests` };
  }
  const isKnown = (item: unknown) =>
    typeof item === 'string' || (typeof item === 'object' && item !== null && !Array.isArray(item));
  const wrong = documents.findIndex((item) => !isKnown(item));
  return wrong === -1 ? null : { path: [wrong], message: 'must be a string or an object with a text' };
}

import { nameField } from '../../src/embedding/name-field.ts';
import type { Rerankers } from '../../src/rerank/open-rerankers.ts';
import { RerankRequest, RerankResponse, textOf } from '../../src/rerank/schema.ts';
import { axisOf } from '../../src/usage/schema.ts';
import { defineRoute, type Route } from '../route.ts';
import { EMBEDDING_REFUSALS } from './embeddings.ts';

/** Documents per search unit, as counted by Cohere. */
const DOCUMENTS_PER_UNIT = 100;

/**
 * Reranking in one shape that clients of Cohere (/v2, before it /v1), Jina and Voyage read. Fields are those of
 * docs.cohere.com/reference/rerank, api.jina.ai/openapi.json and docs.voyageai.com/reference/reranker-api.
 */
export function rerankRoutes(rerankers: Rerankers, settings: { bodyBytes: number }): Route[] {
  return [
    rerankRoute(rerankers, settings, { path: '/v1/rerank', operationId: 'rerank', version: '1' }),
    rerankRoute(rerankers, settings, { path: '/v2/rerank', operationId: 'rerankV2', version: '2' }),
  ];
}

function rerankRoute(
  rerankers: Rerankers,
  { bodyBytes }: { bodyBytes: number },
  { path, operationId, version }: { path: string; operationId: string; version: string },
): Route {
  return defineRoute({
    method: 'POST',
    path,
    whileMoving: true,
    operationId,
    summary: 'Order up to 1,000 documents by how well they answer a query',
    access: 'embed',
    // All three read `detail`. Voyage's Python client fails on an object `error`.
    bodyLimitBytes: bodyBytes,
    // It mostly waits for a vendor or a local model's process, where organizations take turns.
    capacity: 'none',
    body: RerankRequest,
    axis: ({ documents }) => axisOf(documents),
    responses: { 200: { description: 'Documents, the best first', schema: RerankResponse } },
    refusals: EMBEDDING_REFUSALS,
    async handle({ body, caller, requestId, signal }) {
      const { documents, rank_fields: fields } = body;
      const texts = documents.map((document) => textOf(document, fields));
      const { model, scores, tokens } = await rerankers
        .rerank({
          account: caller,
          model: body.model,
          query: body.query,
          texts,
          tokensPerTextMax: body.max_tokens_per_doc ?? body.max_doc_length ?? null,
          refusesLong: !body.truncation,
          signal,
        })
        .catch((error: unknown) => {
          throw nameField(error, 'documents');
        });
      const best = scores
        .map((relevance_score, index) => ({ index, relevance_score }))
        // The sort is stable: documents with equal scores stay in request order.
        .sort((a, b) => b.relevance_score - a.relevance_score)
        .slice(0, body.top_n ?? body.top_k);
      const objectOf = (index: number) => {
        const document = documents[index] as (typeof documents)[number];
        return typeof document === 'string' ? { text: document } : document;
      };
      const isAsked = body.return_documents;
      return {
        body: {
          id: requestId,
          object: 'list',
          model,
          results: best.map((ranked) => (isAsked ? { ...ranked, document: objectOf(ranked.index) } : ranked)),
          data: best.map((ranked) => (isAsked ? { ...ranked, document: texts[ranked.index] as string } : ranked)),
          usage: { prompt_tokens: tokens, total_tokens: tokens },
          meta: {
            api_version: { version },
            billed_units: { search_units: Math.ceil(documents.length / DOCUMENTS_PER_UNIT) },
            tokens: { input_tokens: tokens },
          },
        } satisfies RerankResponse,
      };
    },
  });
}

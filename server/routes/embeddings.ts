import { z } from 'zod';
import type { Embedder } from '../../src/embedding/embedder.ts';
import { renderEmbeddingList } from '../../src/embedding/printing/print-floats.ts';
import { EmbeddingsRequest, EmbeddingsResponse } from '../../src/embedding/schema.ts';
import { findModel, listModels, ModelView, viewOf } from '../../src/models/catalog.ts';
import { AppError } from '../../src/platform/errors.ts';
import { defineRoute, type Route } from '../route.ts';

export function embeddingRoutes(embedder: Embedder, settings: { honorBase64: boolean }): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/embeddings',
      operationId: 'createEmbeddings',
      summary: 'Embed up to 100 texts',
      access: 'embed',
      errors: 'embedding',
      reads: 'json',
      body: EmbeddingsRequest,
      responses: { 200: { description: 'Vectors in the order of the input', schema: EmbeddingsResponse } },
      async handle({ body, signal }) {
        const result = await embedder.embed({
          texts: body.input,
          model: body.model,
          dimensions: body.dimensions,
          taskType: body.task_type,
          signal,
        });
        const base64 = settings.honorBase64 && body.encoding_format === 'base64';
        return {
          body: renderEmbeddingList(result.vectors, result.dimensions, {
            model: result.model,
            promptTokens: result.tokens,
            base64,
          }),
          type: 'application/json; charset=utf-8',
          headers: {
            'X-Service-Projection': 'uncalibrated',
            ...(result.effectiveDimensions < result.dimensions
              ? { 'X-Service-Effective-Dimensions': String(result.effectiveDimensions) }
              : {}),
            ...(result.warnings.length > 0 ? { 'X-Service-Warning': result.warnings.join(', ') } : {}),
          },
        };
      },
    }),
    retiredEmbed(),
    defineRoute({
      method: 'GET',
      path: '/v1/models',
      operationId: 'listModels',
      summary: 'Every model a request may name, and whether it can be used here',
      access: 'caller',
      errors: 'embedding',
      reads: 'none',
      responses: {
        200: { description: 'Models', schema: z.object({ object: z.literal('list'), data: z.array(ModelView) }) },
      },
      async handle() {
        return { body: { object: 'list', data: listModels((model) => embedder.isAvailable(model)) } };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/models/*id',
      operationId: 'getModel',
      summary: 'One model; its id may contain a slash',
      access: 'caller',
      errors: 'embedding',
      reads: 'none',
      params: z.object({ id: z.union([z.string(), z.array(z.string())]).transform((id) => [id].flat().join('/')) }),
      responses: { 200: { description: 'The model', schema: ModelView } },
      async handle({ params }) {
        try {
          const model = findModel(params.id);
          return { body: viewOf(model, embedder.isAvailable(model)) };
        } catch (error) {
          if (!(error instanceof AppError) || error.code !== 'unknown_model') throw error;
          throw new AppError({ code: 'model_not_found', status: 404, param: 'model', message: error.message });
        }
      },
    }),
  ];
}

/** Retired (contract 4.2 a): answered before authentication, and before a byte of the body is read. */
function retiredEmbed(): Route {
  return defineRoute({
    method: 'POST',
    path: '/v1/embed',
    operationId: 'retiredEmbed',
    summary: 'Retired; use POST /v1/embeddings',
    access: 'public',
    errors: 'embedding',
    reads: 'none',
    responses: { 410: { description: 'Always' } },
    async handle({ requestId }) {
      return {
        status: 410,
        body: {
          error: {
            code: 'endpoint_retired',
            message: 'POST /v1/embed is retired. Send {"input": "…"} to POST /v1/embeddings instead.',
            type: 'invalid_request_error',
            param: null,
            details: { successor: { method: 'POST', path: '/v1/embeddings' } },
          },
          request_id: requestId,
        },
      };
    },
  });
}

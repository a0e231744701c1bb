import { embedInput, textsOf } from '../../src/embedding/embed-input.ts';
import type { EmbeddedTexts, Embedder } from '../../src/embedding/embedder.ts';
import { nameField } from '../../src/embedding/name-field.ts';
import { convertVectors } from '../../src/embedding/output-types.ts';
import {
  EmbedBatchRequest,
  EmbedBatchResponse,
  EmbeddingsRequest,
  EmbeddingsResponse,
} from '../../src/embedding/schema.ts';
import type { FairGate } from '../../src/platform/fair-gate.ts';
import { freeMemory } from '../../src/platform/free-memory.ts';
import { FLOATS_PER_SLICE, renderEmbeddingList, renderVectorRows } from '../../src/printing/print-floats.ts';
import { axisOf } from '../../src/usage/schema.ts';
import { type ClientSdk, readsLists } from '../client-sdk.ts';
import { printedReply } from '../printed-reply.ts';
import { defineRoute, type Route, type RouteReply } from '../route.ts';

/** Headers of the deprecated batch endpoint (contract 4.3 and 9.3; RFC 9745 for the form of `Deprecation`). */
const BATCH_IS_DEPRECATED = {
  Deprecation: '@1754179200',
  Sunset: 'Mon, 03 Aug 2026 00:00:00 GMT',
  Link: '</v1/embeddings>; rel="successor-version"',
} as const;

/** Headers that describe the vectors of a response. */
export const VECTOR_HEADERS = ['X-Service-Projection', 'X-Service-Effective-Dimensions', 'X-Service-Warning'] as const;

/** Refusals of every embedding route: quota, plan, and failure of both models. */
export const EMBEDDING_REFUSALS = [402, 403, 502] as const;

const TOO_MANY_TEXTS =
  'takes up to 100 texts, and items must be strings; token ids are not accepted; use POST /v1/embed/jobs for up to 10,000';

export function embeddingRoutes(
  embedder: Embedder,
  settings: { base64: 'auto' | 'always' | 'never'; bodyBytes: number; renders: FairGate },
): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/embeddings',
      whileMoving: true,
      operationId: 'createEmbeddings',
      summary: 'Embed up to 100 texts',
      access: 'embed',
      errors: 'embedding',
      bodyLimitBytes: settings.bodyBytes,
      capacity: 'none',
      body: EmbeddingsRequest,
      tooManyValues: { param: 'input', message: TOO_MANY_TEXTS },
      axis: (body) => axisOf(textsOf(body.input)),
      responses: {
        200: { description: 'Vectors in the order of the input', schema: EmbeddingsResponse, headers: VECTOR_HEADERS },
      },
      refusals: EMBEDDING_REFUSALS,
      async handle({ body, caller, sdk, signal }) {
        const base64 = body.encoding_format === 'base64' && answersInBase64(settings.base64, sdk);
        const result = await embedInput(embedder, body.input, {
          model: body.model,
          dimensions: body.dimensions,
          taskType: body.task_type,
          orgId: caller.orgId,
          charge: { account: caller, axis: axisOf(textsOf(body.input)) },
          unpadded: !base64 && (body.output_dtype ?? 'float') === 'float',
          signal,
        });
        const { model, tokens: promptTokens } = result;
        const { rows, columns } = await convertVectors(result.vectors, result.columns, body.output_dtype);
        const zeros = result.dimensions - result.columns;
        const render = () => renderEmbeddingList(rows, columns, { model, promptTokens, base64, zeros });
        const turn = { renders: settings.renders, orgId: caller.orgId, signal };
        const json = await inTurn(turn, rows.length, render);
        freeMemory(result.vectors);
        return printedReply(json, headersOf(result));
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/embed/batch',
      whileMoving: true,
      operationId: 'embedBatch',
      summary: 'Deprecated; use POST /v1/embeddings',
      access: 'embed',
      errors: 'embedding',
      bodyLimitBytes: settings.bodyBytes,
      capacity: 'none',
      body: EmbedBatchRequest,
      tooManyValues: { param: 'texts', message: TOO_MANY_TEXTS },
      axis: () => 'embed_batch',
      headers: BATCH_IS_DEPRECATED,
      responses: {
        200: { description: 'Vectors in the order of the texts', schema: EmbedBatchResponse, headers: VECTOR_HEADERS },
      },
      refusals: EMBEDDING_REFUSALS,
      async handle({ body, caller, signal }) {
        const wanted = {
          texts: body.texts,
          model: body.model,
          dimensions: body.dimensions,
          taskType: body.task_type,
          orgId: caller.orgId,
          charge: { account: caller, axis: 'embed_batch' },
          unpadded: true,
          signal,
        } as const;
        const result = await embedder.embed(wanted).catch((error: unknown) => {
          throw nameField(error, 'texts');
        });
        const usage = { tokens: result.tokens, count: body.texts.length };
        return vectorRowsReply(result, usage, { renders: settings.renders, orgId: caller.orgId, signal });
      },
    }),
    retiredEmbed(),
  ];
}

function answersInBase64(setting: 'auto' | 'always' | 'never', sdk: ClientSdk | null): boolean {
  return setting === 'auto' ? !readsLists(sdk) : setting === 'always';
}

/** Render `{embeddings: number[][], model, dimensions, usage}`, the response of the batch and image endpoints. */
export async function vectorRowsReply(
  result: EmbeddedTexts,
  usage: Readonly<Record<string, number>>,
  turn: Turn,
): Promise<RouteReply> {
  const { vectors, columns, dimensions, model } = result;
  const render = () => renderVectorRows(vectors, columns, { model, usage, zeros: dimensions - columns });
  const json = await inTurn(turn, vectors.length, render);
  freeMemory(vectors);
  return printedReply(json, headersOf(result));
}

/** Turn of an organization to render a large reply. */
interface Turn {
  readonly renders: FairGate;
  readonly orgId: string;
  readonly signal: AbortSignal;
}

/**
 * Render a large reply in its organization's turn. Otherwise, hundreds of concurrent requests would hold the memory of
 * all their replies until the last one is rendered.
 */
function inTurn({ renders, orgId, signal }: Turn, floats: number, render: () => Promise<Buffer>): Promise<Buffer> {
  return floats <= FLOATS_PER_SLICE ? render() : renders.run(orgId, render, () => signal);
}

/** Create the headers that describe the vectors of a response. */
function headersOf(result: EmbeddedTexts): Record<string, string> {
  const headers: Record<string, string> = { 'X-Service-Projection': result.projection };
  if (result.effectiveDimensions < result.dimensions) {
    headers['X-Service-Effective-Dimensions'] = String(result.effectiveDimensions);
  }
  if (result.warnings.length > 0) headers['X-Service-Warning'] = result.warnings.join(', ');
  return headers;
}

/** Create the retired route (contract 4.2 a). It responds before authentication and before reading the body. */
function retiredEmbed(): Route {
  return defineRoute({
    method: 'POST',
    path: '/v1/embed',
    operationId: 'retiredEmbed',
    summary: 'Retired; use POST /v1/embeddings',
    access: 'public',
    errors: 'embedding',
    responses: {},
    refusals: [410],
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

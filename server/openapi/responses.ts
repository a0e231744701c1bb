import { z } from 'zod';
import { SCIM_TYPE } from '../../src/access/scim/schema.ts';
import type { ErrorFamily, Route } from '../route.ts';
import type { JsonObject, SchemaComponents } from './schemas.ts';

const EmbeddingError = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable(),
      code: z.string(),
      details: z.record(z.string(), z.unknown()).optional(),
    }),
    request_id: z.string(),
  })
  .meta({ id: 'EmbeddingError' });
const DetailError = z.object({ detail: z.string() }).meta({ id: 'DetailError' });

const OpenAiError = EmbeddingError.extend(DetailError.shape).meta({ id: 'OpenAiError' });

const OAuthError = z.object({ error: z.string(), error_description: z.string() }).meta({ id: 'OAuthError' });

const KnowledgeError = z.object({ error_code: z.int(), error_msg: z.string() }).meta({ id: 'KnowledgeError' });

const ScimError = z
  .object({
    schemas: z.array(z.string()),
    status: z.string(),
    scimType: z.string().optional(),
    detail: z.string(),
  })
  .meta({ id: 'ScimError' });

const ERRORS: Readonly<Record<ErrorFamily, { prefix: string; schema: z.ZodType; readonly mediaType?: string }>> = {
  embedding: { prefix: 'Embedding', schema: EmbeddingError },
  detail: { prefix: 'Detail', schema: DetailError },
  both: { prefix: 'OpenAi', schema: OpenAiError },
  oauth: { prefix: 'OAuth', schema: OAuthError },
  knowledge: { prefix: 'Knowledge', schema: KnowledgeError },
  scim: { prefix: 'Scim', schema: ScimError, mediaType: SCIM_TYPE },
};

const REFUSALS: Readonly<Record<number, string>> = {
  400: 'The request is not valid; the message says what to send instead',
  401: 'No valid key or token was sent',
  402: 'The quota of the plan is used up',
  403: 'The caller may not do this',
  404: 'Not found, or of another organization',
  408: 'The body did not arrive in time',
  409: 'The state of the resource does not allow this, or a request with this Idempotency-Key is in progress',
  410: 'No longer available',
  413: 'The body is too large',
  415: 'The content type or encoding of the body is not supported',
  422: 'The Idempotency-Key was used for another request',
  429: 'Too many requests; wait for the time in Retry-After',
  431: 'The headers are too large',
  500: 'A fault of the service',
  502: 'A provider failed',
  503: 'A part of the service is not available; try again after the time in Retry-After',
};

/** Headers of responses: description and schema. */
const HEADERS: Readonly<Record<string, JsonObject>> = {
  'X-Request-Id': { description: 'Id of the request, for the logs', required: true, schema: { type: 'string' } },
  'WWW-Authenticate': { description: '`Bearer`, or `Basic` for clients of OAuth', schema: { type: 'string' } },
  'Retry-After': { description: 'Seconds to wait', schema: { type: 'integer', minimum: 0 } },
  'RateLimit-Limit': {
    description: 'Maximum number of requests per minute on the axis',
    schema: { type: 'integer', minimum: 0 },
  },
  'RateLimit-Remaining': { description: 'Remaining requests', schema: { type: 'integer', minimum: 0 } },
  'RateLimit-Reset': {
    description: 'Seconds until all requests are available again',
    schema: { type: 'integer', minimum: 0 },
  },
  'Idempotency-Replayed': {
    description: 'Set if this is the response to an earlier request with the same Idempotency-Key',
    schema: { const: 'true' },
  },
  'X-Service-Warning': { description: 'Warnings about the request, which was carried out', schema: { type: 'string' } },
  'X-Service-Projection': {
    description: 'Projection of the vectors into the latent space',
    schema: { type: 'string' },
  },
  'X-Service-Effective-Dimensions': {
    description: 'Number of dimensions that carry information, if lower than the length of the vectors',
    schema: { type: 'integer', minimum: 1 },
  },
  'X-Read-Staleness': {
    description: 'Age of the data in seconds, if a replica of the database answered; changes since then may be missing',
    schema: { type: 'number', minimum: 0 },
  },
  'openai-poll-after-ms': {
    description: 'Milliseconds to wait before asking for the state again',
    schema: { type: 'integer', minimum: 1 },
  },
  'Content-Disposition': { description: 'Name of the file', schema: { type: 'string' } },
};

const RATE_HEADERS = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];

/** Render `components.headers`. */
export function renderHeaders(): JsonObject {
  return { ...HEADERS };
}

/** Render `components.responses`: every refusal in every family of errors. */
export function renderRefusals(components: SchemaComponents): JsonObject {
  const rendered: JsonObject = {};
  for (const family of ['embedding', 'detail', 'both', 'oauth', 'knowledge', 'scim'] as const) {
    for (const status of Object.keys(REFUSALS)) {
      rendered[`${ERRORS[family].prefix}${status}`] = refusal(family, Number(status), {}, components);
    }
  }
  return rendered;
}

function refusal(family: ErrorFamily, status: number, more: JsonObject, components: SchemaComponents): JsonObject {
  const headers = { ...headersOf(['X-Request-Id', ...headersOfRefusal(status)]), ...more };
  const { schema, mediaType = 'application/json' } = ERRORS[family];
  const content = { [mediaType]: { schema: components.render(schema, 'output') } };
  return { description: REFUSALS[status], headers, content };
}

function headersOfRefusal(status: number): string[] {
  if (status === 401) return ['WWW-Authenticate'];
  if (status === 410) return ['Idempotency-Replayed'];
  if (status === 429) return ['Retry-After', ...RATE_HEADERS];
  return [409, 502, 503].includes(status) ? ['Retry-After'] : [];
}

function headersOf(names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Render a route's responses: the declared ones, and the refusals of the route and its middleware. */
export function renderResponses(route: Route, components: SchemaComponents): JsonObject {
  const { prefix } = ERRORS[route.errors];
  const fixed = Object.entries(route.headers ?? {}).map(([name, value]) => [name, { schema: { const: value } }]);
  const ofRoute = { ...headersOf(route.axis ? RATE_HEADERS : []), ...Object.fromEntries(fixed) };
  const isPlain = Object.keys(ofRoute).length === 0;
  const refusals = refusalsOf(route).map((status) => [
    status,
    isPlain
      ? { $ref: `#/components/responses/${prefix}${status}` }
      : refusal(route.errors, status, ofRoute, components),
  ]);
  const declared = Object.entries(route.responses).map(([status, response]) => {
    const { description, schema, mediaType = 'application/json', headers = [] } = response;
    const replayed = route.idempotent && Number(status) < 300 ? ['Idempotency-Replayed'] : [];
    const content = schema === undefined ? {} : components.render(schema, 'output');
    const other = response.otherMediaType === undefined ? {} : { [response.otherMediaType]: { schema: {} } };
    return [
      status,
      {
        description,
        headers: { ...headersOf(['X-Request-Id', ...replayed, ...headers]), ...ofRoute },
        ...(schema === undefined && response.mediaType === undefined
          ? {}
          : { content: { [mediaType]: { schema: content }, ...other } }),
      },
    ];
  });
  return { ...Object.fromEntries(refusals), ...Object.fromEntries(declared) };
}

/** List the statuses with which a route can refuse a request, in the handler or in earlier steps. */
function refusalsOf(route: Route): number[] {
  const { access } = route;
  const hasCaller = access !== 'public' && access !== 'signature';
  return [
    ...[400, 431, 500, 503],
    // After many refused credentials, an address or key gets 429.
    ...(hasCaller ? [401, 429] : []),
    // A session is refused without its CSRF token.
    ...(hasCaller ? [403] : []),
    ...(route.params === undefined ? [] : [404]),
    ...(route.reads === 'none' ? [] : [408, 413, 415]),
    ...(route.idempotent ? [409, 410, 422] : []),
    ...(route.refusals ?? []),
  ];
}

import { z } from 'zod';
import type { AccessPolicy, ErrorFamily, Route } from './route.ts';

type JsonObject = Record<string, unknown>;

/** Names of the error shapes in `components.schemas`. */
const ERROR_SCHEMA: Readonly<Record<ErrorFamily, string>> = {
  embedding: 'EmbeddingError',
  detail: 'DetailError',
  both: 'OpenAiError',
};

const EmbeddingError = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
    details: z.record(z.string(), z.unknown()).optional(),
  }),
  request_id: z.string(),
});
const DetailError = z.object({ detail: z.string() });
const OpenAiError = EmbeddingError.extend(DetailError.shape);

/** Render OpenAPI 3.1 from the routes themselves, so that the document matches the validation. */
export function renderOpenApi(routes: readonly Route[], info: { title: string; version: string }): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    const path = route.path.replace(/[:*](\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: '3.1.0',
    info,
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key (`svc_…`) or a user token.' },
        cronSecret: { type: 'apiKey', in: 'header', name: 'X-Cron-Secret', description: 'The cron secret.' },
      },
      schemas: {
        EmbeddingError: schemaOf(EmbeddingError, 'output'),
        DetailError: schemaOf(DetailError, 'output'),
        OpenAiError: schemaOf(OpenAiError, 'output'),
      },
    },
  };
}

function operationOf(route: Route): JsonObject {
  const parameters = [
    ...parametersOf(route.params, 'path'),
    ...parametersOf(route.query, 'query'),
    ...(route.idempotent ? [IDEMPOTENCY_KEY] : []),
    ...(route.access === 'signature' ? SIGNATURE_HEADERS : []),
  ];
  return {
    operationId: route.operationId,
    summary: route.summary,
    security: securityOf(route.access),
    ...(describeAccess(route.access) === null ? {} : { description: describeAccess(route.access) }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined ? {} : { requestBody: requestBodyOf(route, route.body) }),
    responses: { ...successesOf(route), default: { description: 'Error', content: errorContentOf(route.errors) } },
  };
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'The same key with the same request within 24 hours is answered with the first response.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

const SIGNATURE_HEADERS = [
  {
    name: 'X-Messenger-Timestamp',
    in: 'header',
    required: true,
    description: 'Whole seconds since 1970, within 300 seconds of the time of the server.',
    schema: { type: 'integer' },
  },
  {
    name: 'X-Messenger-Signature',
    in: 'header',
    required: true,
    description: 'Lowercase hexadecimal HMAC-SHA-256 of `<timestamp>.<body>` under the secret of the configuration.',
    schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
  },
];

function securityOf(access: AccessPolicy): JsonObject[] {
  if (access === 'public' || access === 'signature') return [];
  return access === 'cron_or_platform_admin' ? [{ bearer: [] }, { cronSecret: [] }] : [{ bearer: [] }];
}

function describeAccess(access: AccessPolicy): string | null {
  if (access === 'public' || access === 'caller') return null;
  if (access === 'signature') return 'Requires a signature over the body instead of an API key.';
  if (access === 'cron_or_platform_admin') return 'With the cron secret, or with the scope `platform_admin`.';
  if (access === 'loopback_or_platform_admin') return 'From this machine, or with the scope `platform_admin`.';
  return `Needs the scope \`${access}\`.`;
}

function parametersOf(schema: z.ZodType | undefined, place: 'path' | 'query'): JsonObject[] {
  if (schema === undefined) return [];
  const rendered = schemaOf(schema, 'input');
  const required = new Set((rendered['required'] as string[] | undefined) ?? []);
  return Object.entries((rendered['properties'] as JsonObject | undefined) ?? {}).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.has(name),
    schema: property,
  }));
}

function requestBodyOf(route: Route, body: z.ZodType): JsonObject {
  const schema = schemaOf(body, 'input');
  const content: JsonObject = { 'application/json': { schema } };
  if (route.reads === 'upload') {
    const file = { type: 'string', contentMediaType: 'application/octet-stream' };
    const properties = { ...(schema['properties'] as JsonObject | undefined), file };
    content['multipart/form-data'] = { schema: { type: 'object', properties, required: ['file'] } };
  }
  return { required: !body.safeParse(undefined).success, content };
}

function successesOf(route: Route): JsonObject {
  return Object.fromEntries(
    Object.entries(route.responses).map(([status, { description, schema }]) => {
      if (schema === undefined) return [status, { description }];
      return [status, { description, content: { 'application/json': { schema: schemaOf(schema, 'output') } } }];
    }),
  );
}

function errorContentOf(family: ErrorFamily): JsonObject {
  return { 'application/json': { schema: { $ref: `#/components/schemas/${ERROR_SCHEMA[family]}` } } };
}

/** Render a schema; parts that JSON Schema cannot express (a transform's output, a Buffer) accept anything. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const { $schema: _dialect, ...rendered } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as JsonObject;
  return rendered;
}

import type { z } from 'zod';
import type { AccessPolicy, Route } from '../route.ts';
import { renderHeaders, renderRefusals, renderResponses } from './responses.ts';
import { allowNulls, type JsonObject, refuseOthers, SchemaComponents } from './schemas.ts';

/**
 * Render OpenAPI 3.1 from the routes themselves, so that the document matches the validation.
 *
 * @param descriptions descriptions by operation id; by default, the required right
 */
export function renderOpenApi(
  routes: readonly Route[],
  info: { title: string; version: string },
  descriptions: ReadonlyMap<string, string> = new Map(),
): JsonObject {
  const components = new SchemaComponents();
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    const path = route.path.replace(/[:*](\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, components, descriptions) };
  }
  const responses = renderRefusals(components);
  return {
    openapi: '3.1.0',
    info,
    servers: [{ url: '/', description: 'This service' }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key (`svc_…`) or a user token.' },
        session: { type: 'apiKey', in: 'cookie', name: 'session', description: 'A session of a browser.' },
        csrf: {
          type: 'apiKey',
          in: 'header',
          name: 'X-CSRF-Token',
          description: 'The CSRF token of the session; every method but GET needs it.',
        },
        cronSecret: { type: 'apiKey', in: 'header', name: 'X-Cron-Secret', description: 'The cron secret.' },
      },
      schemas: components.toJson(),
      responses,
      headers: renderHeaders(),
    },
  };
}

function operationOf(
  route: Route,
  components: SchemaComponents,
  descriptions: ReadonlyMap<string, string>,
): JsonObject {
  const description = descriptions.get(route.operationId) ?? describeAccess(route.access);
  const parameters = [
    ...parametersOf(route.params, 'path', components),
    ...parametersOf(route.query, 'query', components),
    ...(route.idempotent ? [IDEMPOTENCY_KEY] : []),
    ...(route.access === 'signature' ? SIGNATURE_HEADERS : []),
  ];
  return {
    operationId: route.operationId,
    summary: route.summary,
    tags: [tagOf(route.path)],
    security: securityOf(route),
    ...(description === null ? {} : { description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined ? {} : { requestBody: requestBodyOf(route, route.body, components) }),
    responses: renderResponses(route, components),
  };
}

/** Name the group of a route: the resource at the beginning of its path. */
function tagOf(path: string): string {
  return /^\/v\d+\/([a-z_]+)/.exec(path)?.[1] ?? 'service';
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'A repeated request with the same key within 24 hours gets the response of the first one.',
  // Blanks at the ends of a header are not part of its value.
  schema: { type: 'string', pattern: '^[!-~]([ -~]{0,253}[!-~])?$' },
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

function securityOf({ access, method }: Route): JsonObject[] {
  if (access === 'public' || access === 'signature') return [];
  const session = method === 'GET' ? { session: [] } : { session: [], csrf: [] };
  const own = [{ bearer: [] }, session];
  if (access === 'loopback_or_platform_admin') return [...own, {}];
  return access === 'cron_or_platform_admin' ? [...own, { cronSecret: [] }] : own;
}

function describeAccess(access: AccessPolicy): string | null {
  if (access === 'public' || access === 'caller') return null;
  if (access === 'signature') return 'Requires a signature over the body instead of an API key.';
  if (access === 'cron_or_platform_admin') return 'With the cron secret, or with the scope `platform_admin`.';
  if (access === 'loopback_or_platform_admin') return 'From this machine, or with the scope `platform_admin`.';
  return `Needs the scope \`${access}\`.`;
}

function parametersOf(
  schema: z.ZodType | undefined,
  place: 'path' | 'query',
  components: SchemaComponents,
): JsonObject[] {
  if (schema === undefined) return [];
  const rendered = components.render(schema, 'input');
  const required = new Set((rendered['required'] as string[] | undefined) ?? []);
  return Object.entries((rendered['properties'] as JsonObject | undefined) ?? {}).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.has(name),
    schema: withoutNul(property as JsonObject),
  }));
}

/** Exclude NUL in the schema of a URL parameter, unless it has a stricter pattern. */
function withoutNul(schema: JsonObject): JsonObject {
  const isFree = schema['type'] === 'string' && !['pattern', 'format', 'enum'].some((key) => key in schema);
  return isFree ? { ...schema, pattern: '^[^\\u0000]*$' } : schema;
}

function requestBodyOf(route: Route, body: z.ZodType, components: SchemaComponents): JsonObject {
  const name = `${route.operationId.charAt(0).toUpperCase()}${route.operationId.slice(1)}Request`;
  const change = (rendered: JsonObject) => allowNulls(route.refusesUnknownFields ? refuseOthers(rendered) : rendered);
  if (route.isMultipartOnly) {
    const form = formOf(components.render(body, 'input'), true);
    return { required: true, content: { 'multipart/form-data': { schema: form } } };
  }
  const mediaType = route.reads === 'form' ? 'application/x-www-form-urlencoded' : 'application/json';
  const content: JsonObject = { [mediaType]: { schema: components.define(name, body, 'input', change) } };
  if (route.reads === 'upload') content['multipart/form-data'] = { schema: formOf(components.render(body, 'input')) };
  return { required: !body.safeParse(undefined).success, content };
}

/**
 * Derive the multipart form of an upload: the part `file` replaces the fields that only JSON needs.
 * @param isOnlyForm true without a JSON variant, so that all fields belong to the form
 */
function formOf(json: JsonObject, isOnlyForm = false): JsonObject {
  const { required = [], oneOf = [], properties = {}, dependentRequired } = json as Partial<Record<string, unknown[]>>;
  const needed = [required, ...oneOf.map((each) => (each as { required: string[] }).required)].flat();
  const ofJson = new Set(isOnlyForm ? [] : needed);
  const fields = Object.entries(properties).filter(([name]) => !ofJson.has(name));
  const file = { type: 'string', minLength: 1, contentMediaType: 'application/octet-stream' };
  return {
    type: 'object',
    properties: { ...Object.fromEntries(fields), file },
    required: [...(isOnlyForm ? required : []), 'file'],
    ...(dependentRequired === undefined ? {} : { dependentRequired }),
    additionalProperties: false,
  };
}

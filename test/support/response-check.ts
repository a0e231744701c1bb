import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

/** Response as far as OpenAPI describes it. */
export interface CheckedResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed if it is JSON. */
  readonly body: unknown;
}

type Json = Record<string, unknown>;
interface Response {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, { readonly schema?: unknown }>>;
}
interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, Response | { readonly $ref: string }>>;
}

/**
 * Headers that must be documented where they are sent. Node, Koa and the security headers of every response add others.
 */
const DESCRIBED_HEADERS =
  /^(?:x-request-id|x-service-.*|ratelimit-.*|retry-after|deprecation|sunset|link|www-authenticate|idempotency-replayed|content-disposition)$/;

const NAME = 'openapi';

/**
 * Open a check of responses against an OpenAPI document. It throws for an undocumented status, content type, header or
 * body. Requests outside of the document (404, 405) pass. Schemas are compiled on first use.
 */
export function openResponseCheck(document: Json): (method: string, url: string, response: CheckedResponse) => void {
  const ajv = new Ajv2020({ strict: false, allErrors: false });
  formats.default(ajv);
  ajv.addSchema(document, NAME);
  const compiled = new Map<string, ValidateFunction>();
  const operationOf = openMatcher(document['paths'] as Record<string, Json>);

  const validatorAt = (pointer: string): ValidateFunction => {
    const known = compiled.get(pointer) ?? ajv.compile({ $ref: `${NAME}${pointer}` });
    compiled.set(pointer, known);
    return known;
  };

  return (method, url, { status, headers, body }) => {
    const found = operationOf(method, url.split('?')[0] as string);
    if (found === null) return;
    const { operation, pointer } = found;
    const name = `${operation.operationId}, status ${status}`;
    const declared = operation.responses[status];
    if (declared === undefined) throw new Error(`${name}: the OpenAPI document does not list the status`);
    const reference = '$ref' in declared ? declared.$ref : `${pointer}/responses/${status}`;
    const response = '$ref' in declared ? (at(document, declared.$ref) as Response) : declared;

    const documented = new Set(Object.keys(response.headers ?? {}).map((header) => header.toLowerCase()));
    for (const header of headers.keys()) {
      if (DESCRIBED_HEADERS.test(header) && !documented.has(header)) {
        throw new Error(`${name}: the OpenAPI document does not describe the header ${header}`);
      }
    }
    if (!headers.has('x-request-id')) throw new Error(`${name}: the header X-Request-Id is missing`);

    const sent = headers.get('content-type')?.split(';')[0] ?? null;
    const types = Object.keys(response.content ?? {});
    const type = types.find((each) => each === sent || each === '*/*');
    if (sent === null ? types.length > 0 && body !== '' : type === undefined) {
      throw new Error(`${name}: the content type ${sent} is not one of ${types.join(', ') || 'none'}`);
    }
    if (type !== 'application/json') return;
    const validator = validatorAt(`${reference}/content/${escaped(type)}/schema`);
    if (!validator(body)) {
      const [error] = validator.errors ?? [];
      throw new Error(
        `${name}: the body differs from the OpenAPI document at ${error?.instancePath}: ${error?.message}`,
      );
    }
  };
}

interface Match {
  readonly operation: Operation;
  readonly pointer: string;
}

/** Open a search for the operation of a request. A literal segment wins over a parameter; a last one may have slashes. */
function openMatcher(paths: Record<string, Json>): (method: string, path: string) => Match | null {
  const templates = Object.keys(paths)
    .toSorted((a, b) => rankOf(a).localeCompare(rankOf(b)))
    .map((template) => ({ template, pattern: patternOf(template) }));
  return (method, path) => {
    const found = templates.find(({ pattern }) => pattern.test(path));
    const operation = found && (paths[found.template]?.[method.toLowerCase()] as Operation | undefined);
    if (!found || !operation) return null;
    return { operation, pointer: `#/paths/${escaped(found.template)}/${method.toLowerCase()}` };
  };
}

/** Return a key for sorting that puts literal segments before parameters. */
function rankOf(template: string): string {
  return template
    .split('/')
    .map((segment) => (segment.startsWith('{') ? '1' : '0'))
    .join('');
}

function patternOf(template: string): RegExp {
  const last = template === '/v1/models/{id}' ? '.+' : '[^/]+';
  return new RegExp(`^${template.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, last)}$`);
}

const escaped = (segment: string) => segment.replaceAll('~', '~0').replaceAll('/', '~1');

function at(document: Json, reference: string): unknown {
  return reference
    .slice(2)
    .split('/')
    .reduce<unknown>((value, segment) => (value as Json)[segment], document);
}

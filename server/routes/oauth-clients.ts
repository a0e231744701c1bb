import { z } from 'zod';
import { AUTH_METHODS } from '../../src/access/oauth/client-store.ts';
import type { OAuth } from '../../src/access/oauth/oauth.ts';
import { oauthError } from '../../src/access/oauth/oauth-error.ts';
import { ClientMetadata, Registration } from '../../src/access/oauth/registration.ts';
import { BASIC_SCOPE, OAUTH_SCOPES, OFFLINE_ACCESS } from '../../src/access/oauth/scopes.ts';
import { TokenReply } from '../../src/access/oauth/token-endpoint.ts';
import { notFound } from '../../src/platform/errors.ts';
import { mostTelling, PARSE_OPTIONS, placeOf } from '../../src/platform/zod-faults.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { defineRoute, type Route } from '../route.ts';

/** Responses with tokens must not be stored (RFC 6749, section 5.1). */
const NO_STORE = { 'Cache-Control': 'no-store' };

const ServerMetadata = z
  .object({
    issuer: z.string(),
    authorization_endpoint: z.string(),
    token_endpoint: z.string(),
    registration_endpoint: z.string(),
    revocation_endpoint: z.string(),
    response_types_supported: z.array(z.string()),
    response_modes_supported: z.array(z.string()),
    grant_types_supported: z.array(z.string()),
    code_challenge_methods_supported: z.array(z.string()),
    token_endpoint_auth_methods_supported: z.array(z.string()),
    revocation_endpoint_auth_methods_supported: z.array(z.string()),
    scopes_supported: z.array(z.string()),
    authorization_response_iss_parameter_supported: z.boolean(),
    client_id_metadata_document_supported: z.boolean(),
    service_documentation: z.string(),
  })
  .meta({ id: 'OAuthServerMetadata' });

const ResourceMetadata = z
  .object({
    resource: z.string(),
    authorization_servers: z.array(z.string()),
    scopes_supported: z.array(z.string()),
    bearer_methods_supported: z.array(z.string()),
  })
  .meta({ id: 'OAuthResourceMetadata' });

const formField = z.string().max(4_096).optional();
const TokenForm = z.object({
  grant_type: formField.describe('authorization_code or refresh_token'),
  code: formField,
  code_verifier: formField,
  redirect_uri: formField,
  refresh_token: formField,
  scope: formField,
  resource: formField,
  client_id: formField,
  client_secret: formField,
});
const RevocationForm = z.object({
  token: formField,
  token_type_hint: formField,
  client_id: formField,
  client_secret: formField,
});

/** Create the routes by which clients get access to the tool server for a person (OAuth 2.1). */
export function oauthClientRoutes(oauth: OAuth): Route[] {
  return [...discoveryRoutes(oauth), ...endpointRoutes(oauth)];
}

/** @throws AppError `sign_in_not_found` (404) where no tool server is configured */
export function requireOffered(oauth: OAuth): void {
  if (!oauth.isOffered) throw notFound('sign-in', 'OAuth is off until tool_server.urls names a tool server');
}

/** Create the routes by which clients discover the other endpoints, and the address where a person starts. */
function discoveryRoutes(oauth: OAuth): Route[] {
  const common = { access: 'public', errors: 'oauth' } as const;
  const page = { method: 'GET', capacity: 'none', refusals: [404] } as const;
  return [
    defineRoute({
      ...common,
      ...page,
      path: '/.well-known/oauth-authorization-server',
      operationId: 'getOAuthServerMetadata',
      summary: 'Metadata of the authorization server (RFC 8414)',
      responses: { 200: { description: 'The metadata', schema: ServerMetadata } },
      async handle({ origin }) {
        requireOffered(oauth);
        return { body: serverMetadataOf(origin ?? '') };
      },
    }),
    defineRoute({
      ...common,
      ...page,
      path: '/.well-known/oauth-protected-resource/:path',
      operationId: 'getOAuthResourceMetadata',
      summary: 'Metadata of a tool server under the address of this service (RFC 9728)',
      params: z.object({ path: z.string().describe('path of the tool server, such as mcp') }),
      responses: { 200: { description: 'The metadata', schema: ResourceMetadata } },
      async handle({ params, origin }) {
        const resource = oauth.resources.find((one) => one === `${origin}/${params.path}`);
        if (resource === undefined) throw notFound('tool server', params.path);
        return { body: resourceMetadataOf(resource, origin ?? '') };
      },
    }),
    defineRoute({
      ...common,
      ...page,
      path: '/oauth/authorize',
      operationId: 'authorizeClient',
      summary: 'Begin an authorization by a person; redirects to the consent page',
      // The page checks the parameters once somebody has signed in, and shows the faults.
      query: z.looseObject({}),
      responses: { 303: { description: 'To the console' } },
      async handle({ query }) {
        requireOffered(oauth);
        const parameters = new URLSearchParams(Object.entries(query).flatMap(pairsOf));
        return { status: 303, headers: { ...NO_STORE, Location: `/console/authorize?${parameters}` } };
      },
    }),
  ];
}

/** Create the routes that clients call with their codes, tokens and metadata. */
function endpointRoutes(oauth: OAuth): Route[] {
  const common = { access: 'public', errors: 'oauth', method: 'POST', bodyLimitBytes: SMALL_BODY_BYTES_MAX } as const;
  const form = { reads: 'form', signsIn: true } as const;
  return [
    defineRoute({
      ...common,
      ...form,
      path: '/oauth/token',
      operationId: 'issueOAuthTokens',
      summary: 'Exchange an authorization code or a refresh token for tokens (RFC 6749)',
      headers: NO_STORE,
      body: TokenForm,
      responses: { 200: { description: 'The tokens', schema: TokenReply } },
      refusals: [401, 404, 429],
      async handle({ body, authorization }) {
        requireOffered(oauth);
        return { body: await oauth.issueTokens(textsOf(body), authorization) };
      },
    }),
    defineRoute({
      ...common,
      ...form,
      path: '/oauth/revoke',
      operationId: 'revokeOAuthToken',
      summary: 'End the access that a token belongs to (RFC 7009)',
      body: RevocationForm,
      responses: { 200: { description: 'Ended, or the token is unknown', schema: z.object({}) } },
      refusals: [401, 404, 429],
      async handle({ body, authorization }) {
        requireOffered(oauth);
        await oauth.revokePresented(textsOf(body), authorization);
        return { body: {} };
      },
    }),
    defineRoute({
      ...common,
      path: '/oauth/register',
      operationId: 'registerOAuthClient',
      summary: 'Register a client (RFC 7591)',
      headers: NO_STORE,
      body: z.looseObject({}),
      responses: { 201: { description: 'The client', schema: Registration } },
      refusals: [404, 429],
      async handle({ body, clientAddress, signal }) {
        requireOffered(oauth);
        return { status: 201, body: await oauth.register(metadataOf(body), clientAddress, () => signal) };
      },
    }),
  ];
}

function serverMetadataOf(issuer: string): z.output<typeof ServerMetadata> {
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    registration_endpoint: `${issuer}/oauth/register`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: [...AUTH_METHODS],
    revocation_endpoint_auth_methods_supported: [...AUTH_METHODS],
    scopes_supported: [...OAUTH_SCOPES, OFFLINE_ACCESS],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    service_documentation: `${issuer}/docs`,
  };
}

/** Describe a tool server. The scopes are those that every client needs. A client requests others when it uses them. */
function resourceMetadataOf(resource: string, issuer: string): z.output<typeof ResourceMetadata> {
  return {
    resource,
    authorization_servers: [issuer],
    scopes_supported: [BASIC_SCOPE],
    bearer_methods_supported: ['header'],
  };
}

/** @throws AppError `invalid_client_metadata` (400) */
function metadataOf(body: Readonly<Record<string, unknown>>): ClientMetadata {
  const parsed = ClientMetadata.safeParse(body, PARSE_OPTIONS);
  if (parsed.success) return parsed.data;
  const { path, message } = mostTelling(parsed.error.issues[0] as z.core.$ZodIssue);
  throw oauthError('invalid_client_metadata', `${placeOf(path) ?? 'the body'} ${message}`);
}

/** Remove form fields that were not sent. */
function textsOf(form: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** List the pairs of a query parameter, which may be repeated. */
function pairsOf([name, value]: [string, unknown]): [string, string][] {
  return [value].flat().map((one) => [name, String(one)]);
}

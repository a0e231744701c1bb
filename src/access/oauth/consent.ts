import { z } from 'zod';
import { AppError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { inTransaction, type Sql } from '../../platform/postgres.ts';
import { recordAudit } from '../audit.ts';
import { type Caller, hasScope } from '../caller.ts';
import type { Subject } from '../subject.ts';
import {
  type AuthorizationRequest,
  checkFlow,
  chooseResource,
  parseAuthorizationRequest,
} from './authorization-request.ts';
import { type ClientDocuments, isDocumentUrl } from './client-document.ts';
import { markClientUsed, selectClient } from './client-store.ts';
import { deleteOldestGrants, insertGrant } from './grant-store.ts';
import { oauthError } from './oauth-error.ts';
import { isRegistered } from './redirect-uri.ts';
import { OAUTH_SCOPES, type OAuthScope } from './scopes.ts';
import type { OAuthSecrets } from './secrets.ts';

/** Time in which a client must exchange its code (RFC 6749, section 4.1.2). */
const CODE_MS = 60_000;
const DAY_MS = 86_400_000;
export const GRANT_DAYS = { least: 1, usual: 30, most: 365 } as const;
/** Maximum number of grants per person. Beyond it, the oldest ends. */
const GRANTS_OF_ONE_MAX = 50;

/** Facts shown to a person who decides about a client's request. */
export const ConsentFacts = z
  .object({
    client: z.object({
      name: z.string().describe('name that the client gives itself; it is not verified'),
      id_host: z.string().nullable().describe('host whose document describes the client; null if it registered itself'),
      redirect_host: z.string().describe('host or application to which the browser returns'),
      is_local: z.boolean().describe('true if the browser returns to a program on the device of the person'),
    }),
    tool_server: z.string().describe('address of the tool server that the client may use'),
    scopes: z
      .array(z.object({ name: z.enum(OAUTH_SCOPES), is_requested: z.boolean(), is_allowed: z.boolean() }))
      .describe('requested scopes; is_allowed: the person has the scope and can grant it'),
    days: z.object({ least: z.int(), usual: z.int(), most: z.int() }),
  })
  .meta({ id: 'OAuthConsent' });
export type ConsentFacts = z.output<typeof ConsentFacts>;

/** Fault of a request with a known client, and the redirect address that reports it to the client. */
const ConsentFault = z
  .object({ fault: z.string().describe('one sentence'), client: z.string(), return_to: z.string() })
  .meta({ id: 'OAuthConsentFault' });

export const ConsentReply = z.union([ConsentFacts, ConsentFault]);
export type ConsentReply = z.output<typeof ConsentReply>;

/** Person who decides at the console. */
export interface Person {
  readonly subject: Subject;
  readonly caller: Caller;
}

export type Decision =
  | { readonly approve: false }
  | { readonly approve: true; readonly scopes: readonly OAuthScope[]; readonly days: number };

export interface ConsentContext {
  readonly sql: Sql;
  readonly secrets: OAuthSecrets;
  readonly documents: ClientDocuments;
  /** Addresses of the tool servers. */
  readonly resources: readonly string[];
}

interface Client {
  readonly id: string;
  readonly name: string;
  readonly redirectUris: readonly string[];
}

/** Request with a known client and redirect address, so that faults can be reported to the client. */
interface KnownRequest extends AuthorizationRequest {
  readonly client: Client;
  readonly redirectUri: string;
}

/**
 * Describe a client's request to a signed-in person.
 * @throws AppError with an OAuth code (400, 503) if the client or its address is unknown
 */
export async function viewConsent(
  context: ConsentContext,
  query: string,
  { caller }: Person,
  { issuer, signal }: { readonly issuer: string; readonly signal: AbortSignal },
): Promise<ConsentReply> {
  const request = await findRequest(context, query, caller, signal);
  const { client, redirectUri, scopes } = request;
  let resource: string;
  try {
    ({ resource } = check(context, request));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { fault: error.message, client: client.name, return_to: refusalOf(request, issuer, error) };
  }
  const redirect = new URL(redirectUri);
  return {
    client: {
      name: client.name,
      id_host: isDocumentUrl(client.id) ? new URL(client.id).host : null,
      redirect_host:
        redirect.protocol === 'https:' || redirect.protocol === 'http:' ? redirect.host : redirect.protocol,
      is_local: redirect.protocol !== 'https:',
    },
    tool_server: resource,
    scopes: OAUTH_SCOPES.map((name) => ({
      name,
      is_requested: scopes.includes(name),
      is_allowed: hasScope(caller, name),
    })),
    days: { ...GRANT_DAYS },
  };
}

/**
 * Carry out a person's decision. Return the redirect address, which contains the code or the refusal.
 * @throws AppError with an OAuth code (400, 503)
 */
export async function decideConsent(
  context: ConsentContext,
  query: string,
  { subject, caller }: Person,
  decision: Decision,
  { issuer, signal }: { readonly issuer: string; readonly signal: AbortSignal },
): Promise<string> {
  const { sql, secrets } = context;
  const request = await findRequest(context, query, caller, signal);
  const { resource, challenge } = check(context, request);
  if (!decision.approve) return refusalOf(request, issuer, oauthError('access_denied', 'the person did not consent'));
  const { client, redirectUri, state } = request;
  const scopes = OAUTH_SCOPES.filter((scope) => decision.scopes.includes(scope) && hasScope(caller, scope));
  if (scopes.length === 0) throw oauthError('invalid_scope', 'choose at least one right that you have');
  const id = newId('grant');
  const code = secrets.create('code');
  const { orgId, actor, keyId, userId, tokenId, generation } = subject;
  await inTransaction(sql, async (tx) => {
    const grant = { id, orgId, actor, keyId, userId, tokenId, generation, resource, redirectUri, scopes };
    const of = { clientId: client.id, clientName: client.name, lifetimeMs: decision.days * DAY_MS };
    await insertGrant(tx, { ...grant, ...of }, { hash: code.hash, challenge, lifetimeMs: CODE_MS });
    await markClientUsed(tx, client.id);
    await deleteOldestGrants(tx, { orgId, actor }, GRANTS_OF_ONE_MAX);
    const detail = { client: client.name, client_id: client.id, scopes, resource, days: decision.days };
    await recordAudit(tx, { orgId, actor, action: 'grant.create', target: id, detail });
  });
  return addressWith(redirectUri, { code: code.text, state, iss: issuer });
}

/** Find the client and its redirect address. Without both, don't redirect the browser. */
async function findRequest(
  { sql, documents }: ConsentContext,
  query: string,
  caller: Caller,
  signal: AbortSignal,
): Promise<KnownRequest> {
  const request = parseAuthorizationRequest(query);
  const { clientId } = request;
  const client = isDocumentUrl(clientId)
    ? await documents.find(clientId, caller.orgId, signal)
    : await selectClient(sql, clientId);
  if (client === null) {
    throw oauthError('unauthorized_client', 'this client is not registered here; connect it anew in the application');
  }
  const [only] = client.redirectUris;
  const redirectUri = request.redirectUri ?? (client.redirectUris.length === 1 ? only : undefined);
  if (redirectUri === undefined || !isRegistered(redirectUri, client.redirectUris)) {
    throw oauthError('invalid_request', 'the parameter redirect_uri is not an address that the client registered');
  }
  return { ...request, client, redirectUri };
}

/** Validate the rest of a request. @throws AppError with an OAuth code (400) */
function check({ resources }: ConsentContext, request: KnownRequest) {
  return { challenge: checkFlow(request), resource: chooseResource(request.resource, resources) };
}

/** Build the address that reports a refusal to a client (RFC 6749, section 4.1.2.1; RFC 9207). */
function refusalOf({ redirectUri, state }: KnownRequest, issuer: string, { code, message }: AppError): string {
  return addressWith(redirectUri, { error: code, error_description: message, state, iss: issuer });
}

function addressWith(uri: string, parameters: Readonly<Record<string, string | null>>): string {
  const url = new URL(uri);
  for (const [name, value] of Object.entries(parameters)) if (value !== null) url.searchParams.set(name, value);
  return url.href;
}

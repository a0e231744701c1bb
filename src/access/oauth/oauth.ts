import { z } from 'zod';
import { AppError, notFound } from '../../platform/errors.ts';
import { inTransaction, type Sql } from '../../platform/postgres.ts';
import { RefusalBrake } from '../../platform/refusal-brake.ts';
import type { KeyRing } from '../../platform/secret-key.ts';
import { recordAudit } from '../audit.ts';
import { type Caller, hasScope, SCOPES } from '../caller.ts';
import type { Resolved } from '../credential-cache.ts';
import { invalidCredentials } from '../credential-errors.ts';
import { callerOfGrant } from '../make-caller.ts';
import { callerOfSubject } from '../subject.ts';
import { ClientDocuments } from './client-document.ts';
import { deleteUnusedClients } from './client-store.ts';
import { type ConsentReply, type Decision, decideConsent, type Person, viewConsent } from './consent.ts';
import {
  deleteEndedGrants,
  deleteGrant,
  type Grant,
  selectGrants,
  selectToken,
  updateGrantUse,
} from './grant-store.ts';
import { type ClientMetadata, type Registration, registerClient } from './registration.ts';
import { OAuthSecrets } from './secrets.ts';
import { type Form, issueTokens, revokePresented, type TokenReply } from './token-endpoint.ts';

/** Access that a person gave to a client, as shown in lists. */
export const GrantView = z
  .object({
    id: z.string(),
    client: z.string().describe('name of the client'),
    client_id: z.string(),
    given_by: z.string().describe('`user:<id>`, `key:<id>` or `operator:<os user>`'),
    scopes: z.array(z.enum(SCOPES)),
    tool_server: z.string(),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime(),
    last_used_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Grant' });
export type GrantView = z.output<typeof GrantView>;

export const GRANT_ROWS_MAX = 1_000;

/** Rate of registrations per address: a burst, then one every ten seconds. */
const REGISTRATIONS = { burst: 100, perSecond: 0.1, waitingMax: 0 };

export interface OAuthSettings {
  /** Addresses of the tool servers: the audiences of tokens. If empty, nobody can sign in by OAuth. */
  readonly resources: readonly string[];
  /** Hosts whose metadata documents may describe clients. */
  readonly clientHosts: readonly string[];
}

interface RequestFacts {
  readonly issuer: string;
  readonly signal: AbortSignal;
}

/** Authorization server of the tool server (OAuth 2.1). */
export class OAuth {
  readonly #sql: Sql;
  readonly #secrets: OAuthSecrets;
  readonly #documents: ClientDocuments;
  readonly #registrations = new RefusalBrake(REGISTRATIONS);
  readonly resources: readonly string[];

  constructor(sql: Sql, keyRing: Pick<KeyRing, 'oauth'>, { resources, clientHosts }: OAuthSettings) {
    this.#sql = sql;
    this.#secrets = new OAuthSecrets(keyRing);
    this.#documents = new ClientDocuments(clientHosts);
    this.resources = resources;
  }

  get isOffered(): boolean {
    return this.resources.length > 0;
  }

  /** @throws AppError of `registerClient`, `temporarily_unavailable` (429) for too many from one address */
  async register(metadata: ClientMetadata, address: string, signal: () => AbortSignal): Promise<Registration> {
    if (!(await this.#registrations.brake([address], signal))) {
      throw new AppError({
        code: 'temporarily_unavailable',
        status: 429,
        message: 'too many clients were registered from this address; try again in a minute',
        retryable: true,
        retryAfterSeconds: 60,
      });
    }
    return registerClient(this.#sql, this.#secrets, metadata);
  }

  viewConsent(query: string, person: Person, facts: RequestFacts): Promise<ConsentReply> {
    return viewConsent(this.#consent, query, person, facts);
  }

  decideConsent(query: string, person: Person, decision: Decision, facts: RequestFacts): Promise<string> {
    return decideConsent(this.#consent, query, person, decision, facts);
  }

  issueTokens(form: Form, authorization: string | undefined): Promise<TokenReply> {
    return issueTokens(this.#tokens, form, authorization);
  }

  revokePresented(form: Form, authorization: string | undefined): Promise<void> {
    return revokePresented(this.#tokens, form, authorization);
  }

  /** Find the caller of an access token. @throws AppError `invalid_credentials` (401) */
  async lookUp(token: string): Promise<Resolved> {
    const hash = this.#secrets.hash('access', token);
    const live = hash && (await selectToken(this.#sql, hash, 'access'));
    if (!live) throw invalidCredentials();
    const { grant, scopes, endsInMs, lastUsedIsOld } = live;
    // A tool server removed from the settings is no longer an audience.
    if (!this.resources.includes(grant.resource)) throw invalidCredentials();
    const person = await callerOfSubject(this.#sql, grant);
    if (person === null) throw invalidCredentials();
    if (lastUsedIsOld) await updateGrantUse(this.#sql, grant);
    const { id, clientId, clientName, actor: givenBy, resource } = grant;
    const caller = callerOfGrant(person.caller, { id, clientId, clientName, givenBy, resource }, scopes);
    return { caller, endsInMs: Math.min(endsInMs, person.endsInMs ?? endsInMs) };
  }

  /** List the caller's grants, or for a manager of users, those of everybody in the organization. */
  async listGrants(by: Caller): Promise<GrantView[]> {
    const grants = await selectGrants(this.#sql, by.orgId, { actor: ownerOf(by), limit: GRANT_ROWS_MAX });
    return grants.map(viewOf);
  }

  /**
   * End a grant. Every process refuses its tokens within 1 s.
   * @throws AppError `grant_not_found` (404), including for another person's grant without the scope `users:manage`
   */
  async revokeGrant(by: Caller, id: string): Promise<void> {
    const { orgId, actor } = by;
    await inTransaction(this.#sql, async (tx) => {
      if (!(await deleteGrant(tx, orgId, id, ownerOf(by)))) throw notFound('grant', id);
      await recordAudit(tx, { orgId, actor, action: 'grant.revoke', target: id });
    });
  }

  /** Delete ended grants, expired tokens and unused clients. */
  async sweep(): Promise<void> {
    await deleteEndedGrants(this.#sql);
    await deleteUnusedClients(this.#sql);
  }

  get #tokens() {
    return { sql: this.#sql, secrets: this.#secrets };
  }

  get #consent() {
    return { ...this.#tokens, documents: this.#documents, resources: this.resources };
  }
}

/** Return the person whose grants a caller manages; null for everybody's. */
function ownerOf(by: Caller): string | null {
  return hasScope(by, 'users:manage') ? null : by.actor;
}

function viewOf(grant: Grant): GrantView {
  return {
    id: grant.id,
    client: grant.clientName,
    client_id: grant.clientId,
    given_by: grant.actor,
    scopes: [...grant.scopes],
    tool_server: grant.resource,
    created_at: grant.createdAt.toISOString(),
    expires_at: grant.expiresAt.toISOString(),
    last_used_at: grant.lastUsedAt?.toISOString() ?? null,
  };
}

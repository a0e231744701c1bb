import { z } from 'zod';
import { QUERY_CHARS_MAX } from '../../src/access/oauth/authorization-request.ts';
import { ConsentReply, GRANT_DAYS, type Person } from '../../src/access/oauth/consent.ts';
import { GRANT_ROWS_MAX, GrantView, type OAuth } from '../../src/access/oauth/oauth.ts';
import { OAUTH_SCOPES } from '../../src/access/oauth/scopes.ts';
import type { Sessions } from '../../src/access/sessions/sessions.ts';
import { forbidden } from '../../src/platform/errors.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { defineRoute, type Route, type RouteContext } from '../route.ts';
import { requireOffered } from './oauth-clients.ts';

const query = z.string().max(QUERY_CHARS_MAX).describe('query string of the authorization request, unchanged');
const ConsentBody = z.object({
  query,
  approve: z.boolean(),
  scopes: z.array(z.enum(OAUTH_SCOPES)).max(OAUTH_SCOPES.length).default([]),
  days: z.int().min(GRANT_DAYS.least).max(GRANT_DAYS.most).default(GRANT_DAYS.usual),
});

/** Create the routes by which a person grants clients access to the tool server, and lists and revokes grants. */
export function oauthConsentRoutes({
  oauth,
  sessions,
}: {
  readonly oauth: OAuth;
  readonly sessions: Sessions;
}): Route[] {
  return [...consentRoutes(oauth, sessions), ...grantRoutes(oauth)];
}

/** Create the routes of the page on which a person decides. */
function consentRoutes(oauth: OAuth, sessions: Sessions): Route[] {
  const common = { method: 'POST', access: 'caller', bodyLimitBytes: SMALL_BODY_BYTES_MAX } as const;
  async function personOf({
    caller,
    session,
  }: Pick<RouteContext<unknown, unknown, unknown, 'caller'>, 'caller' | 'session'>): Promise<Person> {
    requireOffered(oauth);
    if (session === null) {
      throw forbidden('only a person who is signed in to the console can give access', 'session_missing');
    }
    return { caller, subject: await sessions.subjectOf(session.reveal()) };
  }
  return [
    defineRoute({
      ...common,
      path: '/v1/oauth/consent/view',
      whileMoving: true,
      operationId: 'viewConsent',
      summary: 'Facts about the request of a client, for the person who decides',
      body: z.object({ query }),
      responses: { 200: { description: 'The facts', schema: ConsentReply } },
      refusals: [404],
      async handle(context) {
        const { body, origin, signal } = context;
        const facts = { issuer: origin ?? '', signal };
        return { body: await oauth.viewConsent(body.query, await personOf(context), facts) };
      },
    }),
    defineRoute({
      ...common,
      path: '/v1/oauth/consent',
      operationId: 'decideConsent',
      summary: 'Grant or refuse a client access',
      refusesUnknownFields: true,
      body: ConsentBody,
      responses: {
        200: {
          description: 'The address to which the browser returns',
          schema: z.object({ return_to: z.string() }).meta({ id: 'OAuthReturn' }),
        },
      },
      refusals: [404],
      async handle(context) {
        const { body, origin, signal } = context;
        const { approve, scopes, days } = body;
        const decision = approve ? { approve, scopes, days } : { approve };
        const facts = { issuer: origin ?? '', signal };
        const person = await personOf(context);
        return { body: { return_to: await oauth.decideConsent(body.query, person, decision, facts) } };
      },
    }),
  ];
}

/** Create the routes of grants. */
function grantRoutes(oauth: OAuth): Route[] {
  return [
    defineRoute({
      access: 'caller',
      method: 'GET',
      path: '/v1/oauth/grants',
      operationId: 'listGrants',
      summary: `Access that the caller gave to clients, newest first; with users:manage, that of everybody`,
      responses: {
        200: {
          description: `At most ${GRANT_ROWS_MAX}`,
          schema: z.object({ data: z.array(GrantView) }).meta({ id: 'GrantList' }),
        },
      },
      async handle({ caller }) {
        return { body: { data: await oauth.listGrants(caller) } };
      },
    }),
    defineRoute({
      access: 'caller',
      method: 'DELETE',
      path: '/v1/oauth/grants/:grant',
      operationId: 'revokeGrant',
      summary: 'End the access of a client; its tokens are refused within a second',
      params: z.object({ grant: z.string().min(1) }),
      responses: { 204: { description: 'Ended' } },
      async handle({ caller, params }) {
        await oauth.revokeGrant(caller, params.grant);
        return {};
      },
    }),
  ];
}

import { z } from 'zod';
import type { Caller } from '../../src/access/caller.ts';
import { KeyLimits } from '../../src/access/key-limits.ts';
import {
  type CreatedApiKey,
  createKey,
  editKey,
  findKey,
  listKeys,
  revokeKey,
  rotateKey,
} from '../../src/access/keys.ts';
import { ApiKey, ApiKeyChanges, NewApiKey } from '../../src/access/schema.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { perAxis } from '../../src/platform/provider-settings.ts';
import type { KeyRing } from '../../src/platform/secret-key.ts';
import type { Usage } from '../../src/usage/open-usage.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { editQueries, reportQueries } from '../limited-queries.ts';
import { PageQuery, pageSchema, readPage } from '../pages.ts';
import { defineRoute, type Route } from '../route.ts';

const DAY_MS = 86_400_000;
const DAYS_MIN = 0.01;
const DAYS_MAX = 36_500;

const params = z.object({ key: z.string().min(1).describe('id of the key') });
const { name, scopes, authLevel, userId } = NewApiKey.shape;
const days = z.number().min(DAYS_MIN).max(DAYS_MAX);

const CreateKeyBody = z.object({
  name,
  scopes,
  auth_level: authLevel.describe('default: 5, or the level of the creator or of the user if that is lower'),
  user_id: userId.describe('id or email of the user to whom the key belongs'),
  expires_in_days: days.optional().describe('default: the key never expires'),
  limits: KeyLimits.optional().describe('default: only those of the plan'),
});

const EditKeyBody = z.object({
  name: ApiKeyChanges.shape.name,
  scopes: ApiKeyChanges.shape.scopes,
  auth_level: authLevel,
  expires_in_days: days.nullish().describe('days from now; null: never'),
  limits: KeyLimits.nullish().describe('all limits of the key; null: only those of the plan'),
});

const RotateBody = z.object({
  grace_seconds: z
    .number()
    .int()
    .min(0)
    .max(30 * 86_400)
    .default(0)
    .describe('time for which the old key still works'),
});

const KeyView = ApiKey.meta({ id: 'ApiKey' });
const KeyWithUse = ApiKey.extend({
  used_this_month: perAxis.describe('texts or images that count against the quotas of the key, by axis'),
}).meta({ id: 'ApiKeyWithUse' });
const KeyWithSecret = ApiKey.extend({
  key: z.string().describe('the key itself; only this response contains it'),
}).meta({
  id: 'CreatedApiKey',
});

function lifetimeOf(inDays: number | null | undefined): number | null | undefined {
  return typeof inDays === 'number' ? Math.round(inDays * DAY_MS) : inDays;
}

function reveal({ apiKey, key }: CreatedApiKey): z.output<typeof KeyWithSecret> {
  return { ...apiKey, key: key.reveal() };
}

/** Parts of an installation that the routes of keys use. */
interface KeysContext {
  readonly sql: Sql;
  readonly keyRing: KeyRing;
  readonly usage: Pick<Usage, 'ofKey'>;
  /** Replace names in limits by ids. */
  resolveLimits<T extends KeyLimits | null | undefined>(caller: Caller, limits: T): Promise<T>;
}

export function keyRoutes(context: KeysContext): Route[] {
  const { sql, keyRing, usage } = context;
  return [
    defineRoute({
      access: 'keys:manage',
      method: 'POST',
      path: '/v1/keys',
      operationId: 'createKey',
      summary: 'Create an API key, with no more rights than the caller has; only this response shows it',
      refusesUnknownFields: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      idempotent: true,
      repliesSecret: true,
      body: CreateKeyBody,
      responses: { 201: { description: 'The key', schema: KeyWithSecret } },
      refusals: [404, 409],
      async handle({ caller, body }) {
        const { auth_level, user_id, expires_in_days } = body;
        const lifetimeMs = lifetimeOf(expires_in_days) ?? undefined;
        const limits = await context.resolveLimits(caller, body.limits);
        const { name, scopes } = body;
        const input = { name, scopes, authLevel: auth_level, userId: user_id, lifetimeMs, limits };
        return { status: 201, body: reveal(await createKey(editQueries(sql), keyRing, caller, input)) };
      },
    }),
    defineRoute({
      access: 'keys:manage',
      method: 'GET',
      path: '/v1/keys',
      operationId: 'listKeys',
      summary: 'API keys of the organization, newest first, revoked ones included',
      query: PageQuery,
      responses: { 200: { description: 'A page', schema: pageSchema(KeyView) } },
      handle: async ({ caller, query, signal }) => ({
        body: await readPage(query, (page) => listKeys(reportQueries(sql, signal), caller, page)),
      }),
    }),
    defineRoute({
      access: 'keys:manage',
      method: 'GET',
      path: '/v1/keys/:key',
      operationId: 'getKey',
      summary: 'One API key, without its secret, and what it used this month',
      params,
      responses: { 200: { description: 'The key', schema: KeyWithUse } },
      async handle({ caller, params, signal }) {
        const key = await findKey(reportQueries(sql, signal), caller, params.key);
        return { body: { ...key, used_this_month: await usage.ofKey(caller.orgId, key.id, signal) } };
      },
    }),
    defineRoute({
      access: 'keys:manage',
      method: 'PATCH',
      path: '/v1/keys/:key',
      operationId: 'editKey',
      summary: 'Change the name, the rights, the limits or the expiry of an API key; effective within a second',
      refusesUnknownFields: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      params,
      body: EditKeyBody,
      responses: { 200: { description: 'The key after the edit', schema: KeyView } },
      refusals: [404, 409],
      async handle({ caller, params, body }) {
        const { auth_level: authLevel, expires_in_days, ...others } = body;
        const limits = await context.resolveLimits(caller, others.limits);
        const changes = { ...others, authLevel, lifetimeMs: lifetimeOf(expires_in_days), limits };
        return { body: await editKey(editQueries(sql), caller, params.key, changes) };
      },
    }),
    ...endOfKeyRoutes(sql, keyRing),
  ];
}

function endOfKeyRoutes(sql: Sql, keyRing: KeyRing): Route[] {
  return [
    defineRoute({
      access: 'keys:manage',
      method: 'POST',
      path: '/v1/keys/:key/rotate',
      operationId: 'rotateKey',
      summary: 'Replace an API key with a new one that has the same rights and lifetime; only this response shows it',
      refusesUnknownFields: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      idempotent: true,
      repliesSecret: true,
      params,
      body: RotateBody.prefault({}),
      responses: { 201: { description: 'The new key', schema: KeyWithSecret } },
      refusals: [409],
      async handle({ caller, params, body }) {
        const graceMs = body.grace_seconds * 1000;
        return { status: 201, body: reveal(await rotateKey(editQueries(sql), keyRing, caller, params.key, graceMs)) };
      },
    }),
    defineRoute({
      access: 'keys:manage',
      method: 'DELETE',
      path: '/v1/keys/:key',
      operationId: 'revokeKey',
      summary: 'Revoke an API key; requests with it are refused within a second',
      params,
      responses: { 200: { description: 'Revoked', schema: z.object({ id: z.string(), revoked: z.literal(true) }) } },
      async handle({ caller, params }) {
        await revokeKey(editQueries(sql), caller, params.key);
        return { body: { id: params.key, revoked: true } };
      },
    }),
  ];
}

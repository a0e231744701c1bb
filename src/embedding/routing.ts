import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { recordAudit } from '../access/audit.ts';
import { type Caller, requireScope } from '../access/caller.ts';
import { ALIAS_ID } from '../models/catalog.ts';
import { invalidRequest } from '../platform/errors.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import type { Backends } from './backends.ts';
import { type Routing, selectRouting, upsertRouting } from './routing-store.ts';

const DEFAULT_ROUTING: Routing = { primary: ALIAS_ID, fallback: null, mode: 'single', updatedAt: null };

/** Time until this process sees a change by another one. */
const CACHE_MS = 1_000;
const CACHED_ORGANIZATIONS_MAX = 10_000;

const ModelId = z.string().min(1).max(200);

/** Body of `PUT /v1/routing` (contract 2.4). */
export const RoutingRequest = z.object({
  primary: ModelId,
  fallback: ModelId.nullish(),
  mode: z.enum(['fallback', 'single']).default('single'),
});
export type RoutingRequest = z.output<typeof RoutingRequest>;

export const RoutingView = z
  .object({
    primary: z.string(),
    fallback: z.string().nullable(),
    mode: z.enum(['fallback', 'single']),
    updated_at: z.iso.datetime().nullable(),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'Routing' });
export type RoutingView = z.output<typeof RoutingView>;

/** Routing of all organizations, cached for a second. */
export interface RoutingTable {
  of(orgId: string): Routing | Promise<Routing>;
  view(caller: Caller): Promise<RoutingView>;
  /** @throws AppError `unknown_model`, `invalid_request` (400), `scope_missing` (403) */
  set(caller: Caller, request: RoutingRequest): Promise<RoutingView>;
}

export function openRoutingTable(sql: Sql, backends: Backends): RoutingTable {
  const cache = new LRUCache<string, Routing>({ max: CACHED_ORGANIZATIONS_MAX, ttl: CACHE_MS, ttlResolution: 0 });
  const remember = (orgId: string, routing: Routing) => {
    cache.set(orgId, routing);
    return routing;
  };
  const read = async (orgId: string) => (await selectRouting(sql, orgId)) ?? DEFAULT_ROUTING;
  return {
    of(orgId) {
      const cached = cache.get(orgId);
      if (cached) return cached;
      return read(orgId).then((routing) => remember(orgId, withoutLostModels(routing, backends)));
    },
    async view(caller) {
      return viewOf(await read(caller.orgId), backends);
    },
    async set(caller, request) {
      requireScope(caller, 'routing:manage');
      const { primary, mode } = request;
      const fallback = request.fallback ?? null;
      requireKnown(backends, primary, 'primary');
      if (fallback !== null) requireKnown(backends, fallback, 'fallback');
      if (mode === 'fallback' && fallback === null) {
        throw invalidRequest('fallback: mode "fallback" needs a fallback model', 'fallback');
      }
      if (fallback === primary)
        throw invalidRequest('the fallback is the primary model; choose another model', 'fallback');
      const routing = await inTransaction(sql, async (tx) => {
        const detail = { primary, fallback, mode };
        await recordAudit(tx, {
          orgId: caller.orgId,
          actor: caller.actor,
          action: 'routing.set',
          target: null,
          detail,
        });
        return upsertRouting(tx, caller.orgId, { ...detail, updatedBy: caller.actor });
      });
      return viewOf(remember(caller.orgId, routing), backends);
    },
  };
}

/** Drop models that no longer exist, so that the rest of the routing still works. */
function withoutLostModels(routing: Routing, backends: Backends): Routing {
  const { primary, fallback, mode } = routing;
  if (fallback === null) return routing;
  if (!isKnown(backends, fallback)) return { ...routing, fallback: null, mode: 'single' };
  if (mode === 'single' || isKnown(backends, primary)) return routing;
  return { ...routing, primary: fallback, fallback: null, mode: 'single' };
}

function isKnown(backends: Backends, id: string): boolean {
  return backends.catalog.list().some((model) => model.id === id);
}

/** @param field request field that names the model */
function requireKnown(backends: Backends, id: string, field: 'primary' | 'fallback'): void {
  if (isKnown(backends, id)) return;
  throw invalidRequest(`${field}: unknown model "${id}"; GET /v1/models lists the models`, field, 'unknown_model');
}

function viewOf(routing: Routing, backends: Backends): RoutingView {
  const { primary, fallback, mode, updatedAt } = routing;
  return {
    primary,
    fallback,
    mode,
    updated_at: updatedAt?.toISOString() ?? null,
    warnings: warningsOf(routing, backends),
  };
}

/** Build warnings about a routing that does not work as written. */
function warningsOf({ primary, fallback, mode }: Routing, backends: Backends): string[] {
  const warnings: string[] = [];
  const chosen = fallback === null ? [primary] : [primary, fallback];
  for (const id of chosen) {
    if (!isKnown(backends, id)) warnings.push(`${id} is no longer in the catalog; choose another model`);
    else if (!backends.isAvailable(backends.catalog.find(id))) {
      warnings.push(`no provider is configured for ${id}; ask the operator`);
    }
  }
  if (fallback === null) return warnings;
  if (mode === 'single') warnings.push('the fallback is not used in mode "single"; set mode "fallback"');
  if (chosen.every((id) => isKnown(backends, id)) && !backends.areComparable(chosen)) {
    warnings.push(
      `vectors of ${fallback} cannot be compared with those of ${primary}; calibrate both (service projections fit)`,
    );
  }
  return warnings;
}

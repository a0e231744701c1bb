import { z } from 'zod';
import type { Metrics } from '../../src/platform/metrics.ts';
import { defineRoute, type Route } from '../route.ts';

const Health = z.object({ status: z.literal('ok') });

/** Readiness of the process. `down`: do not send traffic here. `degraded`: an optional part is missing. */
export const Readiness = z.object({
  status: z.enum(['ok', 'degraded', 'down']),
  /** State of each part: `ok`, or a description of the fault that is safe to publish. */
  checks: z.record(z.string(), z.string()),
  /** Latency of each part that works, in milliseconds; for `objects` write, read and delete together. */
  latency_ms: z.record(z.string(), z.number()),
});
export type Readiness = z.infer<typeof Readiness>;

const RETRY_AFTER_SECONDS = '2';
const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Create the routes for operators and load balancers.
 * @param deps.openapi renders the document of all routes, including these; called once
 * @param deps.tools renders the document of the operations that language models can call; called once
 */
export function operationRoutes(deps: {
  ready: () => Promise<Readiness>;
  metrics: Pick<Metrics, 'registry'>;
  openapi: () => unknown;
  tools: () => unknown;
}): Route[] {
  let openapi: Buffer | null = null;
  let tools: Buffer | null = null;
  return [
    defineRoute({
      method: 'GET',
      path: '/healthz',
      operationId: 'getHealth',
      summary: 'The process is alive',
      access: 'public',
      responses: { 200: { description: 'Alive', schema: Health } },
      async handle() {
        return { body: { status: 'ok' } satisfies z.infer<typeof Health> };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/readyz',
      operationId: 'getReadiness',
      summary: 'Readiness of the process and state of each part',
      access: 'public',
      responses: {
        200: { description: 'Ready, perhaps degraded', schema: Readiness },
        503: { description: 'Not ready', schema: Readiness, headers: ['Retry-After'] },
      },
      async handle() {
        const readiness = await deps.ready();
        if (readiness.status !== 'down') return { body: readiness };
        return { status: 503, body: readiness, headers: { 'Retry-After': RETRY_AFTER_SECONDS } };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/metrics',
      operationId: 'getMetrics',
      summary: 'Metrics in the text format of Prometheus',
      access: 'loopback_or_platform_admin',
      responses: { 200: { description: 'Metrics', mediaType: 'text/plain' } },
      async handle() {
        const { registry } = deps.metrics;
        return { body: Buffer.from(await registry.metrics()), type: registry.contentType };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/openapi.json',
      operationId: 'getOpenApi',
      summary: 'This API as OpenAPI 3.1',
      access: 'public',
      responses: { 200: { description: 'The document', schema: z.record(z.string(), z.unknown()) } },
      async handle() {
        openapi ??= Buffer.from(JSON.stringify(deps.openapi()));
        return { body: openapi, type: JSON_TYPE, isShared: true };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/openapi/tools.json',
      operationId: 'getToolsOpenApi',
      summary: 'The operations that applications offer to language models, as OpenAPI 3.1',
      access: 'public',
      responses: { 200: { description: 'The document', schema: z.record(z.string(), z.unknown()) } },
      async handle() {
        tools ??= Buffer.from(JSON.stringify(deps.tools()));
        return { body: tools, type: JSON_TYPE, isShared: true };
      },
    }),
  ];
}

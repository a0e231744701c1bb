import { type ApiService, apiRoutes, apiService } from '../../server/api-service.ts';
import { renderOpenApi } from '../../server/openapi/render-openapi.ts';
import type { Route } from '../../server/route.ts';
import type { Scope } from '../../src/access/caller.ts';
import { createKey } from '../../src/access/keys.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestAppliance, type TestAppliance, type TestApplianceOptions } from './appliance.ts';
import { openResponseCheck } from './response-check.ts';

export interface TestApi extends TestAppliance {
  readonly api: ApiService;
  /** Create an API key of organization `default`, or of another one, which is created if missing. */
  key(options?: { scopes?: Scope[]; authLevel?: number; org?: string }): Promise<string>;
  /**
   * Send one request. JSON bodies are encoded, other bodies are sent unchanged. Every response is checked against the
   * OpenAPI document.
   */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
}

export interface CallOptions {
  readonly key?: string;
  readonly json?: unknown;
  readonly body?: string | Uint8Array | FormData;
  readonly headers?: Record<string, string>;
  /** Read only the first part of a continuing response. */
  readonly isStream?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: answers are checked by the tests that read them
  readonly body: any;
}

/** Open a complete installation with its API on a free port and, unless `worker` is false, an ingest worker. */
export async function openTestApi(
  options: { worker?: boolean; settings?: Record<string, unknown> } & TestApplianceOptions = {},
): Promise<TestApi> {
  const test = await openTestAppliance(options.settings, options);
  const { appliance } = test;
  const api = apiService(appliance, { port: 0 });
  const check = checkOf(apiRoutes(appliance, () => {}));
  const services: Service[] = [api, ...(options.worker === false ? [] : [appliance.jobs.worker('ingest')])];
  for (const service of services) await service.start(new AbortController().signal);
  return {
    ...test,
    api,
    async key({ scopes, authLevel, org = 'default' } = {}) {
      const operator = await appliance.access.operator(org).catch(async () => {
        await appliance.access.createOrganization({ name: org, plan: 'free' });
        return appliance.access.operator(org);
      });
      const { key } = await createKey(appliance.sql, appliance.keyRing, operator, {
        name: 'test',
        ...(scopes ? { scopes } : {}),
        ...(authLevel ? { authLevel } : {}),
      });
      return key.reveal();
    },
    async call(method, path, { key, json, body, headers, isStream } = {}) {
      const reply = await fetch(api.url + path, {
        method,
        headers: {
          ...(key ? { Authorization: `Bearer ${key}` } : {}),
          ...(json === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(json === undefined ? (body === undefined ? {} : { body: body as string }) : { body: JSON.stringify(json) }),
      });
      const text = isStream && reply.ok ? await firstPartOf(reply) : await reply.text();
      const isJson = reply.headers.get('content-type')?.startsWith('application/json') === true;
      const answer = { status: reply.status, headers: reply.headers, body: isJson ? JSON.parse(text) : text };
      check(method, path, answer);
      return answer;
    },
    async close() {
      for (const service of services.toReversed()) await service.stop();
      await test.close();
    },
  };
}

/** Checks of the responses of this process's installations, by their routes. */
const checks = new Map<string, ReturnType<typeof openResponseCheck>>();

function checkOf(routes: readonly Route[]): ReturnType<typeof openResponseCheck> {
  const key = routes.map(({ method, path }) => `${method} ${path}`).join();
  const check = checks.get(key) ?? openResponseCheck(renderOpenApi(routes, { title: 'service', version: '0' }));
  checks.set(key, check);
  return check;
}

async function firstPartOf(reply: Response): Promise<string> {
  const reader = reply.body?.getReader();
  const part = await reader?.read();
  await reader?.cancel();
  return Buffer.from(part?.value ?? []).toString();
}

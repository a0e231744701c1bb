import type { RestClient } from '../client/rest-client.ts';
import { hasAnswers, listRoutes, type RouteNames } from '../client/service-api.ts';
import { runWithin } from '../platform/deadline.ts';
import type { Logger } from '../platform/logger.ts';
import type { Tool } from './tool.ts';

const KEEP_MS = 60_000;
const RETRY_MS = 2_000;
const WAIT_MS = 3_000;

/** Choice of the tools whose API routes exist. */
export interface ToolChoice {
  /** Select the tools to offer now. Until the API's routes are known, offer all tools. */
  offered(): Promise<readonly Tool[]>;
}

/** Create a choice that asks the API for its routes at most once a minute, and two seconds after a failure. */
export function chooseTools(tools: readonly Tool[], client: RestClient, logger: Logger): ToolChoice {
  let routes: RouteNames | null = null;
  let answers = false;
  let askAtMs = 0;
  let asking: Promise<void> | null = null;

  async function ask(): Promise<void> {
    try {
      const listed = await runWithin(WAIT_MS, undefined, (signal) => listRoutes(client, signal));
      routes = new Set([...listed].map(withoutNames));
      // Earlier releases of the API don't have this route.
      answers = await runWithin(WAIT_MS, undefined, (signal) => hasAnswers(client, signal)).catch(() => false);
      askAtMs = performance.now() + KEEP_MS;
    } catch (error) {
      logger.warn({ err: error }, 'the API did not say which routes it has');
      askAtMs = performance.now() + RETRY_MS;
    } finally {
      asking = null;
    }
  }

  return {
    async offered() {
      if (asking === null && performance.now() >= askAtMs) asking = ask();
      if (asking !== null) await asking;
      const known = routes;
      const usable = tools.filter(({ needsAnswers }) => needsAnswers === undefined || answers);
      return known === null ? usable : usable.filter(({ route }) => known.has(withoutNames(route)));
    },
  };
}

/** Normalise a route, ignoring the names of path parameters. */
function withoutNames(route: string): string {
  return route.replace(/\{[^}]*\}/g, '{}');
}

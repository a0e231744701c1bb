import { expect, it } from 'vitest';
import {
  APPLICABLE,
  CHECKS_NOT_APPLICABLE,
  listScenarios,
  NOT_APPLICABLE,
  runScenario,
} from './conformance-scenarios.ts';
import { startFakeApi } from './fake-api.ts';
import { REVISIONS, type Revision, startToolServer } from './support.ts';

/** Tests over scenarios of the official conformance suite, which speaks HTTP only. */
export function testConformance(isChosen: (scenario: string) => boolean): void {
  const cases = REVISIONS.flatMap((revision) =>
    APPLICABLE[revision].filter(isChosen).map((scenario) => [scenario, revision] as const),
  );
  it.each(cases)('passes %s of the official conformance suite in revision %s', async (scenario, revision) => {
    const api = await startFakeApi();
    const env = { SERVICE_API_BASE_URL: api.url, SERVICE_API_KEY: 'svc_x', SERVICE_MCP_ALLOW_UNAUTHENTICATED: '1' };
    const { url } = await startToolServer(env);
    const checks = await runScenario(url, scenario, revision);
    const failed = checks.filter(({ status, id }) => status === 'FAILURE' && !(id in CHECKS_NOT_APPLICABLE));
    expect(failed.map(({ id, errorMessage }) => `${id}: ${errorMessage}`)).toEqual([]);
    expect(checks.filter(({ id, status }) => status === 'FAILURE' && !isNotTestable(id, checks))).toEqual([]);
  });
}

/** Return true if an exempt check failed because the server lacks the feature, and for no other reason. */
function isNotTestable(id: string, checks: Awaited<ReturnType<typeof runScenario>>): boolean {
  const message = checks.find((check) => check.id === id)?.errorMessage ?? '';
  return /^Not testable|Method not found/.test(message);
}

/** Define a test that every scenario of the suite is either run or exempt with a reason. */
export function testCoverage(): void {
  it('every scenario of the official conformance suite is run, or set aside with its reason', async () => {
    const scenarios = await listScenarios();
    expect(scenarios.length).toBeGreaterThan(60);
    const unjudged = scenarios.flatMap(({ name, revisions }) =>
      revisions
        .filter((revision) => (REVISIONS as readonly string[]).includes(revision) || revision === 'extension')
        .filter((revision) => !(APPLICABLE[revision as Revision] ?? []).includes(name))
        .filter(() => !Object.keys(NOT_APPLICABLE).some((prefix) => name.startsWith(prefix)))
        .map((revision) => `${name} in ${revision}`),
    );
    expect(unjudged).toEqual([]);
  });
}

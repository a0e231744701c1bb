import { hasScope } from '../../src/access/caller.ts';
import { readOrganization } from '../../src/appliance/overview/read-overview.ts';
import { Overview } from '../../src/appliance/overview/schema.ts';
import type { SearchLog } from '../../src/insight/log/search-log.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import type { InstallationGauge } from '../installation-load.ts';
import { reportQueries } from '../limited-queries.ts';
import { defineRoute, type Route } from '../route.ts';

export function overviewRoutes(sql: Sql, gauge: InstallationGauge, log: Pick<SearchLog, 'flush'>): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/overview',
      operationId: 'getOverview',
      summary: 'Jobs, documents and problems; with platform_admin also the load of the installation',
      access: 'caller',
      responses: { 200: { description: 'The overview', schema: Overview } },
      async handle({ caller, signal }) {
        const queries = reportQueries(sql, signal);
        await log.flush();
        const organization = await readOrganization(queries, caller);
        if (!hasScope(caller, 'platform_admin')) return { body: { ...organization, installation: null } };
        const installation = await gauge.read(queries, signal);
        const attention = [...(await gauge.attention(installation)), ...organization.attention];
        return { body: { ...organization, attention, installation } };
      },
    }),
  ];
}

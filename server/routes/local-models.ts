import { z } from 'zod';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { type Installations, NewInstallation } from '../../src/local-models/install/installations.ts';
import { listFolders } from '../../src/local-models/install/open-source.ts';
import { removeModel } from '../../src/local-models/remove-model.ts';
import { selectLocalModels } from '../../src/local-models/store.ts';
import {
  LocalModelList,
  PlanView,
  viewInstallation,
  viewInstalled,
  viewPlan,
} from '../../src/local-models/view-models.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { reportQueries } from '../limited-queries.ts';
import { defineRoute, type Route } from '../route.ts';

const params = z.object({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'is not the name of a local model')
    .describe('name of the model without local/'),
});
const Deleted = z.object({ name: z.string(), deleted: z.literal(true) });

/** Create the routes by which operators install models on this host, follow the progress, and remove them. */
export function localModelRoutes(appliance: Appliance, installations: Installations): Route[] {
  const { sql, config, localModels } = appliance;
  const common = { access: 'platform_admin', errors: 'embedding' } as const;
  const asks = { refusesUnknownFields: true, bodyLimitBytes: SMALL_BODY_BYTES_MAX } as const;
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/local-models',
      operationId: 'listLocalModels',
      summary: 'Models that are installed on this host, and installations in progress',
      responses: { 200: { description: 'The models', schema: LocalModelList } },
      async handle({ signal }) {
        const models = await selectLocalModels(reportQueries(sql, signal));
        const rows = await installations.list();
        return {
          body: {
            object: 'list',
            data: models.map(viewInstalled),
            installations: rows.map(viewInstallation),
            hub_url: config.localModels.hubUrl,
            folders: await listFolders(config.localModels),
          },
        };
      },
    }),
    defineRoute({
      ...common,
      ...asks,
      method: 'POST',
      path: '/v1/local-models/plan',
      operationId: 'planModelInstallation',
      summary: 'Licence, size and commit of a model to install; changes nothing',
      body: NewInstallation,
      responses: { 200: { description: 'The plan', schema: PlanView } },
      refusals: [403, 404, 502],
      handle: async ({ body, signal }) => ({ body: viewPlan(await installations.plan(body, signal)) }),
    }),
    defineRoute({
      ...common,
      ...asks,
      method: 'POST',
      path: '/v1/local-models',
      operationId: 'installLocalModel',
      summary: 'Begin to install a model on this host, as "service models install" does; one at a time',
      body: NewInstallation,
      responses: { 202: { description: 'The installation has begun; the list has its progress', schema: PlanView } },
      refusals: [403, 404, 409, 502],
      async handle({ caller, body, signal }) {
        return { status: 202, body: viewPlan(await installations.start(caller.actor, body, signal)) };
      },
    }),
    defineRoute({
      ...common,
      method: 'DELETE',
      path: '/v1/local-models/:name/installation',
      operationId: 'cancelModelInstallation',
      summary: 'Cancel the installation of a model, or remove a failed one from the list',
      params,
      responses: { 200: { description: 'It stops within seconds', schema: Deleted } },
      refusals: [404],
      async handle({ params: { name: part } }) {
        const name = `local/${part}`;
        await installations.cancel(name);
        return { body: { name, deleted: true } };
      },
    }),
    defineRoute({
      ...common,
      method: 'DELETE',
      path: '/v1/local-models/:name',
      operationId: 'removeLocalModel',
      summary: 'Remove an installed model and its files, unless a bucket uses it',
      params,
      responses: { 200: { description: 'Removed', schema: Deleted } },
      refusals: [404, 409],
      async handle({ caller, params: { name: part }, signal }) {
        const name = `local/${part}`;
        await removeModel(appliance, { name, actor: caller.actor }, signal);
        await localModels.refresh();
        return { body: { name, deleted: true } };
      },
    }),
  ];
}

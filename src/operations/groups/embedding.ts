import { z } from 'zod';
import { axisOf } from '../../embedding/embedder.ts';
import { listModels } from '../../embedding/list-models.ts';
import { RoutingRequest } from '../../embedding/routing.ts';
import { EmbeddingsRequest } from '../../embedding/schema.ts';
import { type ModelTest, testModels, testReranker } from '../../embedding/test-models.ts';
import type { LocalModel } from '../../local-models/schema.ts';
import { renderEmbeddingList } from '../../printing/print-floats.ts';
import { warnOfOtherModels } from '../../search/bucket-model.ts';
import { forInstallation, forOrganization } from '../operation.ts';

/** Embed texts. `json` is the body that the API sends for them. */
export const embed = forOrganization(EmbeddingsRequest, async (request, { appliance, operator, signal }) => {
  const { embedder } = appliance.embedding;
  const { vectors, dimensions, model, tokens, warnings } = await embedder.embed({
    ...{ texts: request.input, model: request.model, dimensions: request.dimensions, taskType: request.task_type },
    ...{ orgId: operator.orgId, charge: { account: operator, axis: axisOf(request.input) }, signal },
  });
  const json = await renderEmbeddingList(vectors, dimensions, { model, promptTokens: tokens, base64: false });
  return { json: Buffer.from(json).toString(), model, dimensions, tokens, warnings };
});

export const models = forInstallation(z.object({}), (_, { appliance: { embedding, projections } }) => ({
  object: 'list' as const,
  data: listModels({ backends: embedding.backends, projections }),
}));

/** List the models that are installed on this host. */
export const installed = forInstallation(z.object({}), (_, { appliance }) => [...appliance.localModels.list()]);

/** List the ids of models to test: those that are named, all of which must exist, or else all that have a provider. */
export const testable = forInstallation(
  z.object({ ids: z.array(z.string()) }),
  ({ ids }, { appliance: { embedding, localModels } }) => {
    const { catalog } = embedding.backends;
    const rerankers = localModels.list().flatMap(({ spec }) => (spec.kind === 'reranker' ? [spec.name] : []));
    if (ids.length > 0) return ids.map((id) => (rerankers.includes(id) ? id : catalog.find(id).id));
    const available = catalog.list().filter((model) => embedding.backends.isAvailable(model));
    return [...rerankers, ...available.map(({ id }) => id)];
  },
);

/** Make one real call to a model. */
export const test = forOrganization(
  z.object({ model: z.string() }),
  async ({ model }, { appliance, operator, signal }): Promise<ModelTest> => {
    const { embedder, backends } = appliance.embedding;
    const isReranker = ({ spec }: LocalModel) => spec.kind === 'reranker' && spec.name === model;
    if (appliance.localModels.list().some(isReranker)) return testReranker(appliance.localModels, model, signal);
    const found = [backends.catalog.find(model)];
    for await (const outcome of testModels(embedder, backends, found, { orgId: operator.orgId, signal }))
      return outcome;
    throw new Error('a test of one model has one outcome');
  },
);

export const routing = forOrganization(z.object({}), (_, { appliance, operator }) =>
  appliance.embedding.routing.view(operator),
);

/** Choose the routing. Warnings name the buckets that another model embeds. */
export const setRouting = forOrganization(RoutingRequest, async (request, { appliance, operator }) => {
  const { sql, embedding } = appliance;
  const { warnings, ...chosen } = await embedding.routing.set(operator, request);
  const { backends } = embedding;
  const others = await warnOfOtherModels({ sql, backends }, operator.orgId, chosen.primary);
  return { ...chosen, warnings: [...warnings, ...others] };
});

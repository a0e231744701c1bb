import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { embedInput, textsOf } from '../../embedding/embed-input.ts';
import { listModels } from '../../embedding/list-models.ts';
import { convertVectors } from '../../embedding/output-types.ts';
import { RoutingRequest } from '../../embedding/routing.ts';
import { EmbeddingsRequest } from '../../embedding/schema.ts';
import { type ModelTest, testModels, testReranker } from '../../embedding/test-models.ts';
import { BUILT_IN_FOLDER, BUILT_IN_MODEL } from '../../local-models/built-in/built-in-model.ts';
import { folderOf } from '../../local-models/model-folders.ts';
import type { LocalModel } from '../../local-models/schema.ts';
import { selectLocalModel } from '../../local-models/store.ts';
import { LEXICAL_ID, SEMANTIC_ID } from '../../models/catalog.ts';
import { invalidRequest, notFound } from '../../platform/errors.ts';
import { renderEmbeddingList } from '../../printing/print-floats.ts';
import { warnOfOtherModels } from '../../search/bucket-model.ts';
import { axisOf } from '../../usage/schema.ts';
import { forInstallation, forOrganization } from '../operation.ts';

/** Embed texts. `json` is the body of the API's response. */
export const embed = forOrganization(
  EmbeddingsRequest,
  async (request, { appliance, operator, signal }) => {
    const { embedder } = appliance.embedding;
    const { vectors, dimensions, model, tokens, warnings } = await embedInput(embedder, request.input, {
      model: request.model,
      dimensions: request.dimensions,
      taskType: request.task_type,
      orgId: operator.orgId,
      charge: { account: operator, axis: axisOf(textsOf(request.input)) },
      signal,
    });
    const { rows, columns } = await convertVectors(vectors, dimensions, request.output_dtype);
    const json = await renderEmbeddingList(rows, columns, { model, promptTokens: tokens, base64: false });
    return { json: Buffer.from(json).toString(), model, dimensions, tokens, warnings };
  },
  ['embedding'],
);

export const models = forInstallation(
  z.object({}),
  (_, { appliance: { embedding, projections } }) => ({
    object: 'list' as const,
    data: listModels({ backends: embedding.backends, projections }),
  }),
  ['embedding', 'projections'],
);

export const installed = forInstallation(z.object({}), (_, { appliance }) => [...appliance.localModels.list()], [
  'localModels',
]);

/** Show an installed model, with its files. @throws AppError `model_not_found` (404) */
export const showInstalled = forInstallation(
  z.object({ model: z.string() }),
  async ({ model }, { appliance: { sql, config } }) => {
    if (model === LEXICAL_ID) throw invalidRequest(`model: ${model} is code and has no files to show`, 'model');
    const found = model === SEMANTIC_ID ? BUILT_IN_MODEL : await selectLocalModel(sql, model);
    if (found === null) throw notFound('model', model);
    const { spec, revision, installedAt } = found;
    const { name, kind, source, variant, dimension, pooling, prefixes, files } = spec;
    return {
      name,
      kind,
      source,
      revision,
      variant,
      dimension,
      max_tokens: spec.maxTokens,
      pooling,
      installed_at: found === BUILT_IN_MODEL ? null : installedAt.toISOString(),
      folder: found === BUILT_IN_MODEL ? BUILT_IN_FOLDER : folderOf(config.dataDir, name, revision),
      licence: found === BUILT_IN_MODEL ? readFileSync(path.join(BUILT_IN_FOLDER, 'LICENSE'), 'utf8') : spec.licence,
      bytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      prefixes,
      files,
    };
  },
);

/** List the ids of models to test: the named ones, which must exist, or else all models that have a provider. */
export const testable = forInstallation(
  z.object({ ids: z.array(z.string()) }),
  ({ ids }, { appliance: { embedding, localModels } }) => {
    const { catalog } = embedding.backends;
    const rerankers = localModels.list().flatMap(({ spec }) => (spec.kind === 'reranker' ? [spec.name] : []));
    if (ids.length > 0) return ids.map((id) => (rerankers.includes(id) ? id : catalog.find(id).id));
    const available = catalog.list().filter((model) => embedding.backends.isAvailable(model));
    return [...rerankers, ...available.map(({ id }) => id)];
  },
  ['embedding', 'localModels'],
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
  ['embedding', 'localModels'],
);

export const routing = forOrganization(
  z.object({}),
  (_, { appliance, operator }) => appliance.embedding.routing.view(operator),
  ['embedding'],
);

/** Choose the routing. Warnings list the buckets that use another model. */
export const setRouting = forOrganization(
  RoutingRequest,
  async (request, { appliance, operator }) => {
    const { sql, embedding } = appliance;
    const { warnings, ...chosen } = await embedding.routing.set(operator, request);
    const { backends } = embedding;
    const others = await warnOfOtherModels({ sql, backends }, operator, chosen.primary);
    return { ...chosen, warnings: [...warnings, ...others] };
  },
  ['embedding'],
);

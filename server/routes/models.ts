import { z } from 'zod';
import { isModelAllowed } from '../../src/access/key-limits.ts';
import { type AnswerModelsContext, listAnswerModels } from '../../src/answers/answer-models.ts';
import { type ListContext, listModels, viewModel } from '../../src/embedding/list-models.ts';
import { ModelView } from '../../src/models/catalog.ts';
import { AppError } from '../../src/platform/errors.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { listMapDetails } from '../../src/projection/manage-maps.ts';
import { MapDetails } from '../../src/projection/schema.ts';
import { readScoreMatrix, ScoreMatrix } from '../../src/projection/score-matrix.ts';
import type { RerankerList } from '../../src/rerank/reranker-list.ts';
import { reportQueries } from '../limited-queries.ts';
import { defineRoute, type Route } from '../route.ts';

export function modelRoutes({
  sql,
  rerankers,
  answers,
  ...models
}: ListContext & {
  readonly sql: Sql;
  readonly rerankers: Pick<RerankerList, 'view'>;
  readonly answers: AnswerModelsContext;
}): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/models',
      operationId: 'listModels',
      summary: 'Models that requests can name, and their availability',
      access: 'caller',
      errors: 'embedding',
      responses: {
        200: { description: 'Models', schema: z.object({ object: z.literal('list'), data: z.array(ModelView) }) },
      },
      async handle({ caller, signal }) {
        const all = [...listModels(models), ...rerankers.view()];
        const allowed = all.filter(({ id }) => isModelAllowed(caller.limits, id));
        const answering = await listAnswerModels({ ...answers, sql: reportQueries(sql, signal) }, caller);
        return { body: { object: 'list', data: [...allowed, ...answering] } };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/models/*id',
      operationId: 'getModel',
      summary: 'One model; its id may contain a slash',
      access: 'caller',
      errors: 'embedding',
      params: z.object({ id: z.preprocess((id) => [id].flat().join('/'), z.string().min(1)) }),
      responses: { 200: { description: 'The model', schema: ModelView } },
      async handle({ caller, params, signal }) {
        const answering = await listAnswerModels({ ...answers, sql: reportQueries(sql, signal) }, caller);
        const answerer = answering.find(({ id }) => id === params.id);
        if (answerer) return { body: answerer };
        const reranker = rerankers.view().find(({ id }) => id === params.id);
        if (reranker) return { body: reranker };
        try {
          return { body: viewModel(models, models.backends.catalog.find(params.id)) };
        } catch (error) {
          if (!(error instanceof AppError) || error.code !== 'unknown_model') throw error;
          throw new AppError({ code: 'model_not_found', status: 404, param: 'model', message: error.message });
        }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/projections',
      operationId: 'listProjections',
      summary: 'Maps of models into the canonical latent space, the newest first',
      access: 'caller',
      responses: {
        200: { description: 'Maps', schema: z.object({ object: z.literal('list'), data: z.array(MapDetails) }) },
      },
      async handle() {
        return { body: { object: 'list', data: await listMapDetails(sql) } };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/projections/matrix',
      operationId: 'getProjectionMatrix',
      summary: 'Models whose vectors can be compared, with their scores in searches across models',
      access: 'caller',
      responses: { 200: { description: 'The matrix', schema: ScoreMatrix } },
      handle: async ({ signal }) => ({ body: await readScoreMatrix(reportQueries(sql, signal)) }),
    }),
  ];
}

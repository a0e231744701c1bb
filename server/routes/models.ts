import { z } from 'zod';
import type { Backends } from '../../src/embedding/backends.ts';
import { listModels, viewModel } from '../../src/embedding/list-models.ts';
import { ModelView } from '../../src/models/catalog.ts';
import { AppError } from '../../src/platform/errors.ts';
import { defineRoute, type Route } from '../route.ts';

export function modelRoutes(backends: Backends): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/models',
      operationId: 'listModels',
      summary: 'Models that requests can name, and their availability',
      access: 'caller',
      errors: 'embedding',
      reads: 'none',
      responses: {
        200: { description: 'Models', schema: z.object({ object: z.literal('list'), data: z.array(ModelView) }) },
      },
      async handle() {
        return { body: { object: 'list', data: listModels(backends) } };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/models/*id',
      operationId: 'getModel',
      summary: 'One model; its id may contain a slash',
      access: 'caller',
      errors: 'embedding',
      reads: 'none',
      params: z.object({ id: z.union([z.string(), z.array(z.string())]).transform((id) => [id].flat().join('/')) }),
      responses: { 200: { description: 'The model', schema: ModelView } },
      async handle({ params }) {
        try {
          return { body: viewModel(backends, backends.catalog.find(params.id)) };
        } catch (error) {
          if (!(error instanceof AppError) || error.code !== 'unknown_model') throw error;
          throw new AppError({ code: 'model_not_found', status: 404, param: 'model', message: error.message });
        }
      },
    }),
  ];
}

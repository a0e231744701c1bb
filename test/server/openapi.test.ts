import { expect, test } from 'vitest';
import { z } from 'zod';
import { renderOpenApi } from '../../server/openapi/render-openapi.ts';
import { defineRoute } from '../../server/route.ts';

const Thing = z.object({ id: z.string(), size: z.int().min(0) }).meta({ id: 'Thing' });

const routes = [
  defineRoute({
    method: 'GET',
    path: '/v1/models/*id',
    operationId: 'getModel',
    summary: 'One model',
    access: 'caller',
    errors: 'embedding',
    reads: 'none',
    params: z.object({ id: z.string() }),
    query: z.object({ limit: z.coerce.number().int().max(200).default(50), after: z.string().optional() }),
    responses: { 200: { description: 'A thing', schema: Thing } },
    async handle() {
      return {};
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/buckets/:bucket/documents',
    operationId: 'upload',
    summary: 'Upload',
    access: 'documents:write',
    errors: 'detail',
    reads: 'upload',
    idempotent: true,
    params: z.object({ bucket: z.string() }),
    body: z.object({ name: z.string().transform((name) => name.length), size: z.number().default(1) }),
    responses: { 202: { description: 'Queued' } },
    async handle() {
      return {};
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/buckets/:bucket/documents',
    operationId: 'list',
    summary: 'List',
    access: 'public',
    errors: 'detail',
    reads: 'none',
    params: z.object({ bucket: z.string() }),
    responses: {},
    async handle() {
      return {};
    },
  }),
];

test('the OpenAPI document matches the schemas of the routes', () => {
  const document = renderOpenApi(routes, { title: 'service', version: '1.2.3' });
  expect(document).toMatchObject({ openapi: '3.1.0', info: { title: 'service', version: '1.2.3' } });
  const paths = document['paths'] as Record<string, Record<string, Record<string, unknown>>>;
  expect(paths).toMatchObject({
    '/v1/models/{id}': {
      get: {
        operationId: 'getModel',
        security: [{ bearer: [] }, { session: [] }],
        parameters: [
          { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
          { name: 'limit', in: 'query', required: false, schema: { default: 50, maximum: 200 } },
          { name: 'after', in: 'query', required: false, schema: { type: 'string' } },
        ],
        responses: {
          200: {
            description: 'A thing',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
          },
          401: { $ref: '#/components/responses/Embedding401' },
          404: { $ref: '#/components/responses/Embedding404' },
        },
      },
    },
    '/v1/buckets/{bucket}/documents': {
      post: {
        description: 'Needs the scope `documents:write`.',
        parameters: [{ name: 'bucket' }, { name: 'Idempotency-Key', in: 'header' }],
        requestBody: {
          required: true,
          content: {
            'application/json': { schema: { $ref: '#/components/schemas/UploadRequest' } },
            'multipart/form-data': {
              schema: { required: ['file'], properties: { size: { type: 'number' }, file: { type: 'string' } } },
            },
          },
        },
        responses: {
          202: { description: 'Queued' },
          403: { $ref: '#/components/responses/Detail403' },
          409: { $ref: '#/components/responses/Detail409' },
          413: { $ref: '#/components/responses/Detail413' },
          415: { $ref: '#/components/responses/Detail415' },
          422: { $ref: '#/components/responses/Detail422' },
        },
      },
      get: { operationId: 'list', security: [] },
    },
  });
  expect(document['components']).toMatchObject({
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    schemas: {
      EmbeddingError: { required: ['error', 'request_id'] },
      DetailError: { required: ['detail'] },
      UploadRequest: { required: ['name'], properties: { name: { type: 'string' } } },
      Thing: { required: ['id', 'size'] },
    },
    responses: { Detail401: { headers: { 'WWW-Authenticate': {} } }, Embedding503: { headers: { 'Retry-After': {} } } },
  });
  expect(paths['/v1/buckets/{bucket}/documents']?.['get']?.['responses']).not.toHaveProperty('401');
});

test('two different schemas of one name are refused', () => {
  const clash = [Thing, Thing.extend({ more: z.string() }).meta({ id: 'Thing' })].map((schema, at) =>
    defineRoute({
      ...{ method: 'GET', path: `/v1/${at}`, operationId: `get${at}`, summary: 'One', access: 'public' },
      ...{ errors: 'detail', reads: 'none', responses: { 200: { description: 'A thing', schema } } },
      async handle() {
        return {};
      },
    }),
  );
  expect(() => renderOpenApi(clash, { title: 'service', version: '1' })).toThrow(
    /two different schemas are named Thing/,
  );
});

test('the OpenAPI document is plain JSON', () => {
  const document = renderOpenApi(routes, { title: 'service', version: '1' });
  expect(JSON.parse(JSON.stringify(document))).toEqual(document);
});

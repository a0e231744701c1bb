import { z } from 'zod';
import { ConnectionView, listConnections } from '../../src/memory/list-connections.ts';
import type { Memory } from '../../src/memory/open-memory.ts';
import { previewSource } from '../../src/memory/preview-source.ts';
import {
  DeletedSource,
  DeleteSourceQuery,
  ListFaultsQuery,
  ListSourcesQuery,
  MemorySearchRequest,
  MemorySearchResponse,
  NewSource,
  PreviewRequest,
  SourceChange,
  SourceFaultView,
  SourcePreview,
  SourceView,
  SyncReply,
  SyncRequest,
} from '../../src/memory/schema.ts';
import { searchMemory } from '../../src/memory/search-memory.ts';
import {
  changeSource,
  createSource,
  deleteSource,
  findSource,
  listSourceFaults,
  listSources,
  syncNow,
} from '../../src/memory/sources.ts';
import { linkResults } from '../../src/search/results/link-results.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { reportQueries } from '../limited-queries.ts';
import { defineRoute, type Route } from '../route.ts';

const params = z.object({ source: z.string().min(1).describe('id or name') });

/**
 * Create the routes of connected sources and of the search over them.
 * @param purge starts to remove marked data and continues after the reply
 */
export function memoryRoutes(memory: Memory, purge: () => void): Route[] {
  const { sql } = memory;
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/memory/sources',
      operationId: 'createMemorySource',
      refusals: [403, 404, 409],
      summary: 'Connect a source to a bucket, through a connection in the settings of the operator',
      access: 'sources:manage',
      refusesUnknownFields: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      idempotent: true,
      body: NewSource,
      responses: { 201: { description: 'The source', schema: SourceView } },
      handle: async ({ caller, body }) => ({ status: 201, body: await createSource(memory, caller, body) }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/memory/sources',
      operationId: 'listMemorySources',
      refusals: [403],
      summary: 'Connected sources that the caller may see, by name',
      access: 'caller',
      query: ListSourcesQuery,
      responses: { 200: { description: 'The sources', schema: z.array(SourceView) } },
      handle: async ({ caller, query }) => ({ body: await listSources(sql, caller, query) }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/memory/sources/:source',
      operationId: 'getMemorySource',
      summary: 'One connected source',
      access: 'caller',
      params,
      responses: { 200: { description: 'The source', schema: SourceView } },
      handle: async ({ caller, params }) => ({ body: await findSource(sql, caller, params.source) }),
    }),
    changeRoute(memory),
    defineRoute({
      method: 'POST',
      path: '/v1/memory/sources/:source/sync',
      operationId: 'syncMemorySource',
      refusals: [409],
      summary: 'Synchronise a source now, as a job',
      access: 'sources:manage',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      params,
      body: SyncRequest,
      responses: { 202: { description: 'Queued, or already in progress', schema: SyncReply } },
      handle: async ({ caller, params, body }) => ({
        status: 202,
        body: await syncNow(memory, caller, params.source, body),
      }),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/memory/sources/:source',
      operationId: 'deleteMemorySource',
      refusals: [403, 409],
      summary: 'Disconnect a source, and remove its documents unless you keep them',
      access: 'sources:manage',
      params,
      query: DeleteSourceQuery,
      responses: { 200: { description: 'Disconnected', schema: DeletedSource } },
      async handle({ caller, params, query }) {
        const deleted = await deleteSource(memory, caller, params.source, { keepDocuments: query.keep_documents });
        purge();
        return { body: deleted };
      },
    }),
    faultsRoute(memory),
    previewRoute(memory),
    connectionsRoute(memory),
    searchRoute(memory),
  ];
}

function changeRoute(memory: Memory): Route {
  return defineRoute({
    method: 'PATCH',
    path: '/v1/memory/sources/:source',
    operationId: 'changeMemorySource',
    summary: 'Pause or resume a source, or change its schedule or configuration',
    access: 'sources:manage',
    refusesUnknownFields: true,
    bodyLimitBytes: SMALL_BODY_BYTES_MAX,
    params,
    body: SourceChange,
    responses: { 200: { description: 'The source after the change', schema: SourceView } },
    handle: async ({ caller, params, body }) => ({ body: await changeSource(memory, caller, params.source, body) }),
  });
}

function faultsRoute({ sql }: Memory): Route {
  return defineRoute({
    method: 'GET',
    path: '/v1/memory/sources/:source/faults',
    operationId: 'listMemorySourceFaults',
    summary: 'Entries that the last synchronisation of a source could not read, by key',
    access: 'sources:manage',
    params,
    query: ListFaultsQuery,
    responses: { 200: { description: 'The entries', schema: z.array(SourceFaultView) } },
    handle: async ({ caller, params, query }) => ({
      body: await listSourceFaults(sql, caller, params.source, query),
    }),
  });
}

function previewRoute(memory: Memory): Route {
  return defineRoute({
    method: 'POST',
    path: '/v1/memory/preview',
    whileMoving: true,
    operationId: 'previewMemorySource',
    refusals: [404],
    summary: 'List what a synchronisation would find, and estimate its cost; nothing is written',
    access: 'sources:manage',
    refusesUnknownFields: true,
    bodyLimitBytes: SMALL_BODY_BYTES_MAX,
    body: PreviewRequest,
    responses: { 200: { description: 'The preview', schema: SourcePreview } },
    handle: async ({ caller, body, signal }) => ({
      body: await previewSource(memory.previews, caller, body, signal),
    }),
  });
}

function connectionsRoute(memory: Memory): Route {
  return defineRoute({
    method: 'GET',
    path: '/v1/memory/connections',
    operationId: 'listMemoryConnections',
    summary: 'Connections that sources of the organization may use, with the schema of their configuration',
    access: 'sources:manage',
    responses: { 200: { description: 'The connections', schema: z.array(ConnectionView) } },
    handle: async ({ caller, signal }) => ({
      body: await listConnections(reportQueries(memory.sql, signal), memory.connections, caller),
    }),
  });
}

function searchRoute(memory: Memory): Route {
  return defineRoute({
    method: 'POST',
    path: '/v1/memory/search',
    whileMoving: true,
    operationId: 'searchMemory',
    refusals: [402, 403, 404, 502],
    summary: 'Find chunks over several buckets, with filters on sources, tags and time',
    access: 'search',
    bodyLimitBytes: SMALL_BODY_BYTES_MAX,
    axis: () => 'search',
    capacity: 'search',
    body: MemorySearchRequest,
    responses: { 200: { description: 'Chunks, best first', schema: MemorySearchResponse } },
    async handle({ caller, body, origin, signal }) {
      const response = await searchMemory(memory.search, caller, body, signal);
      return { body: linkResults(response, memory.search.links, { caller, origin }) };
    },
  });
}

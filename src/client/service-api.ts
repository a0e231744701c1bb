import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { AppError } from '../platform/errors.ts';
import type { Secret } from '../platform/secret.ts';
import { encodeMultipart, type NewUpload } from './multipart.ts';
import type { ApiCall, RestClient } from './rest-client.ts';
import {
  AnswerReply,
  AuthorizationServer,
  BucketList,
  CollectionList,
  DocumentChunks,
  type DocumentDetails,
  DocumentList,
  DocumentReply,
  Installation,
  Job,
  Me,
  MemorySourceList,
  OpenApiPaths,
  SearchReply,
  UploadReply,
  WorkflowList,
  WorkflowRun,
} from './schema.ts';

const UPLOAD_TIMEOUT_MS = 10 * 60_000;
/** Time limit for running a workflow. The response comes after all blocks have finished. */
const WORKFLOW_TIMEOUT_MS = 10 * 60_000;
/** Time limit for an answer, which a model may write for up to ten minutes. */
const ANSWER_TIMEOUT_MS = 10 * 60_000;
/** Maximum number of pages of a list to fetch. */
const LIST_PAGES_MAX = 50;
/** Page size of `GET /v1/memory/sources`, whose array doesn't show if there are more. */
const SOURCE_PAGE_ROWS = 1000;

/** Paths and methods of the routes that a server has, such as `POST /v1/memory/search`. */
export type RouteNames = ReadonlySet<string>;

/** Fetch the routes of a server. Needs no credential. */
export async function listRoutes(client: RestClient, signal: AbortSignal): Promise<RouteNames> {
  const call = { method: 'GET', path: '/openapi.json', reply: OpenApiPaths, repeatable: true } as const;
  const { paths } = await client.call({ ...call, signal, credential: null });
  return new Set(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    ),
  );
}

/** Return true if a server answers questions. Needs no credential. */
export async function hasAnswers(client: RestClient, signal: AbortSignal): Promise<boolean> {
  const call = { method: 'GET', path: '/v1/installation', reply: Installation, repeatable: true } as const;
  return (await client.call({ ...call, signal, credential: null })).answers;
}

/** Fetch the API's address as an authorization server. @throws AppError 404 if it isn't one */
export async function findIssuer(client: RestClient, signal: AbortSignal): Promise<string> {
  const path = '/.well-known/oauth-authorization-server';
  const call = { method: 'GET', path, reply: AuthorizationServer, repeatable: true } as const;
  return (await client.call({ ...call, signal, credential: null })).issuer;
}

/** Client of the REST API with one credential. Every method throws the AppErrors of `RestClient.call`. */
export class ServiceApi {
  readonly #client: RestClient;
  readonly #credential: Secret;

  constructor(client: RestClient, credential: Secret) {
    this.#client = client;
    this.#credential = credential;
  }

  get origin(): string {
    return this.#client.origin;
  }

  /** Fetch the owner of the credential and its rights. */
  me(signal: AbortSignal): Promise<Me> {
    return this.#get('/v1/me', Me, signal);
  }

  async listBuckets(signal: AbortSignal) {
    return this.#list('/v1/buckets', BucketList, signal);
  }

  async listCollections(bucket: string, signal: AbortSignal) {
    return this.#list(`/v1/buckets/${encodeURIComponent(bucket)}/collections`, CollectionList, signal);
  }

  async listMemorySources(userId: string | null, signal: AbortSignal) {
    const user = userId === null ? {} : { user_id: userId };
    const all: z.output<typeof MemorySourceList> = [];
    let cursor: string | undefined;
    for (let page = 0; page < LIST_PAGES_MAX; page++) {
      const query = new URLSearchParams({ ...user, ...(cursor === undefined ? {} : { cursor }) });
      const sources = await this.#get(
        `/v1/memory/sources${query.size === 0 ? '' : `?${query}`}`,
        MemorySourceList,
        signal,
      );
      all.push(...sources);
      cursor = sources.at(-1)?.name;
      if (sources.length < SOURCE_PAGE_ROWS) break;
    }
    return all;
  }

  async listWorkflows(signal: AbortSignal) {
    return this.#list('/v1/workflows', WorkflowList, signal);
  }

  search(bucket: string, request: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<SearchReply> {
    const path = `/v2/buckets/${encodeURIComponent(bucket)}/search`;
    return this.#post(path, SearchReply, { json: request, repeatable: true, signal });
  }

  ask(request: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<AnswerReply> {
    return this.#post('/v1/answers', AnswerReply, { json: request, timeoutMs: ANSWER_TIMEOUT_MS, signal });
  }

  /** Return true if the document exists, and the owner of the credential may read it. */
  async canRead(documentId: string, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#get(`/v1/documents/${encodeURIComponent(documentId)}`, DocumentReply, signal);
      return true;
    } catch (error) {
      if (error instanceof AppError && error.code === 'api_refused' && error.status === 404) return false;
      throw error;
    }
  }

  /** Fetch the details of documents. Omit those that the credential's owner may not see. */
  async findDocuments(ids: readonly string[], signal: AbortSignal): Promise<DocumentDetails[]> {
    const query = new URLSearchParams({ ids: ids.join(','), limit: String(ids.length) });
    return (await this.#get(`/v1/documents?${query}`, DocumentList, signal)).data;
  }

  /** Read chunks of a document: a range, those at a place, or those with certain words. */
  readChunks(
    documentId: string,
    query: Readonly<Record<string, string | number | undefined>>,
    signal: AbortSignal,
  ): Promise<DocumentChunks> {
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as [string, string]],
    );
    const path = `/v1/documents/${encodeURIComponent(documentId)}/chunks`;
    return this.#get(`${path}?${new URLSearchParams(given)}`, DocumentChunks, signal);
  }

  searchMemory(request: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<SearchReply> {
    return this.#post('/v1/memory/search', SearchReply, { json: request, repeatable: true, signal });
  }

  /** Upload a document. After a broken connection it is sent once more under the same `Idempotency-Key`. */
  upload(bucket: string, upload: NewUpload, signal: AbortSignal): Promise<UploadReply> {
    const { onSent } = upload;
    const body = encodeMultipart(upload);
    return this.#post(`/v1/buckets/${encodeURIComponent(bucket)}/documents`, UploadReply, {
      body: { ...body, onSent: onSent && ((sent) => onSent(sent, body.bytes.length)) },
      headers: { 'idempotency-key': randomUUID() },
      repeatable: true,
      timeoutMs: UPLOAD_TIMEOUT_MS,
      signal,
    });
  }

  findJob(id: string, signal: AbortSignal): Promise<Job> {
    return this.#get(`/v1/jobs/${encodeURIComponent(id)}`, Job, signal);
  }

  dryRunWorkflow(id: string, request: Readonly<Record<string, unknown>>, signal: AbortSignal) {
    const path = `/v1/workflows/${encodeURIComponent(id)}/dry-run`;
    return this.#post(path, WorkflowRun, { json: request, timeoutMs: WORKFLOW_TIMEOUT_MS, signal });
  }

  runWorkflow(id: string, request: Readonly<Record<string, unknown>>, signal: AbortSignal) {
    const path = `/v1/workflows/${encodeURIComponent(id)}/run`;
    return this.#post(path, WorkflowRun, { json: request, timeoutMs: WORKFLOW_TIMEOUT_MS, signal });
  }

  getWorkflowRun(id: string, runId: string, signal: AbortSignal): Promise<z.output<typeof WorkflowRun>> {
    return this.#get(`/v1/workflows/${encodeURIComponent(id)}/runs/${encodeURIComponent(runId)}`, WorkflowRun, signal);
  }

  approveWorkflowRun(id: string, runId: string, approvals: Readonly<Record<string, boolean>>, signal: AbortSignal) {
    const path = `/v1/workflows/${encodeURIComponent(id)}/runs/${encodeURIComponent(runId)}/approve`;
    return this.#post(path, WorkflowRun, { json: { approvals }, timeoutMs: WORKFLOW_TIMEOUT_MS, signal });
  }

  /** Fetch all pages of a list. */
  async #list<T>(
    path: string,
    reply: z.ZodType<{ data: T[]; next_cursor?: string | null | undefined }>,
    signal: AbortSignal,
  ): Promise<T[]> {
    const all: T[] = [];
    let cursor: string | null | undefined;
    for (let page = 0; page < LIST_PAGES_MAX; page++) {
      const query = cursor ? `?${new URLSearchParams({ cursor })}` : '';
      const { data, next_cursor } = await this.#get(`${path}${query}`, reply, signal);
      all.push(...data);
      cursor = next_cursor;
      if (!cursor) break;
    }
    return all;
  }

  #get<S extends z.ZodType>(path: string, reply: S, signal: AbortSignal): Promise<z.output<S>> {
    return this.#client.call({ method: 'GET', path, reply, repeatable: true, signal, credential: this.#credential });
  }

  #post<S extends z.ZodType>(
    path: string,
    reply: S,
    rest: Omit<ApiCall<S>, 'method' | 'path' | 'reply' | 'credential'>,
  ): Promise<z.output<S>> {
    return this.#client.call({ method: 'POST', path, reply, ...rest, credential: this.#credential });
  }
}

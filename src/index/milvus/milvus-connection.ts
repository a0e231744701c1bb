import { readFileSync } from 'node:fs';
import type { MilvusClient, ResStatus } from '@zilliz/milvus2-sdk-node';
import { AppError, dependencyDown, unusable } from '../../platform/errors.ts';
import type { MilvusSettings } from '../../platform/storage-settings.ts';
import { loadMilvus } from './load-milvus.ts';

/** Time limits of requests: for reads, for writes and preparation of a collection, and for probes. */
const READ_MS_MAX = 15_000;
export const WRITE_MS_MAX = 60_000;
const PROBE_MS_MAX = 5_000;
/** Maximum delay before reconnecting. */
const RECONNECT_MS_MAX = 2_000;
/** Server silence after which a request is in doubt. */
const KEEPALIVE_MS = 20_000;
/** Oldest releases with the BM25 function, by name prefix. Milvus Lite has its own release numbers. */
const OLDEST: Record<string, readonly [number, number]> = { milvus: [2, 5], milvus_lite: [3, 2] };
/** gRPC code for refused credentials. */
const UNAUTHENTICATED = 16;
/** Milvus error codes for a missing collection, and for one that is not loaded. */
const NO_COLLECTION = 100;
const NOT_LOADED = 101;

/** Error for a request to a missing collection. */
export class CollectionMissing extends Error {}
/** Error for a request to a collection that must be loaded first. */
class CollectionNotLoaded extends Error {}

/** Connection to a Milvus server, opened by the first request and reopened after a loss. */
export class MilvusConnection {
  readonly #settings: MilvusSettings;
  #client: MilvusClient | null = null;
  /** Check of the server's version; null if due. */
  #checking: Promise<void> | null = null;

  constructor(settings: MilvusSettings) {
    this.#settings = settings;
  }

  /**
   * Send a request and check its status.
   *
   * @throws AppError `index_unavailable` (503), `index_engine_unsupported`; CollectionMissing
   */
  async call<T extends object>(request: (client: MilvusClient) => Promise<T>): Promise<T> {
    let reply: T;
    try {
      reply = await request(await this.#checked());
    } catch (error) {
      throw mapError(error);
    }
    const status = ('status' in reply ? reply.status : reply) as ResStatus;
    if (status.code === NO_COLLECTION) throw new CollectionMissing(status.reason);
    if (status.code === NOT_LOADED) throw new CollectionNotLoaded(status.reason);
    if (status.retriable) throw dependencyDown('index', `Milvus refuses the request for now: ${status.reason}`);
    if (status.error_code !== 'Success') throw new Error(`Milvus refused a request: ${status.reason}`);
    return reply;
  }

  /**
   * Send a request for rows of a collection. Load the collection first if it isn't loaded: an administrator may have
   * released it, and Milvus Lite forgets loaded collections on restart.
   *
   * @throws as `call`
   */
  async callLoaded<T extends object>(name: string, request: (client: MilvusClient) => Promise<T>): Promise<T> {
    try {
      return await this.call(request);
    } catch (error) {
      if (!(error instanceof CollectionNotLoaded)) throw error;
      await this.call((client) => client.loadCollectionSync({ collection_name: name, timeout: WRITE_MS_MAX }));
      return this.call(request);
    }
  }

  /** Check that Milvus answers. @throws AppError `index_unavailable` (503), `index_engine_unsupported` */
  async probe(): Promise<void> {
    await this.call((client) => client.hasCollection({ collection_name: 'absent', timeout: PROBE_MS_MAX }));
  }

  async close(): Promise<void> {
    await this.#client?.closeConnection();
    this.#client = null;
  }

  /** Return the client after checking the server's version. */
  async #checked(): Promise<MilvusClient> {
    const client = this.#open();
    this.#checking ??= client.getVersion().then(({ version }) => requireSupported(version));
    try {
      await this.#checking;
    } catch (error) {
      // Check again at the next request: the server may be unreachable for now, or be replaced by a newer one.
      this.#checking = null;
      throw error;
    }
    return client;
  }

  #open(): MilvusClient {
    if (this.#client !== null) return this.#client;
    const { url, token, database, caFile } = this.#settings;
    const isTls = url.startsWith('https:');
    const { MilvusClient } = loadMilvus();
    this.#client = new MilvusClient({
      address: new URL(url).host,
      ssl: isTls,
      ...(isTls && caFile !== null ? { tls: { rootCert: readFileSync(caFile) } } : {}),
      ...(token === null ? {} : { token: token.reveal() }),
      database,
      timeout: READ_MS_MAX,
      // Our jobs and callers retry, and know which requests are safe to retry.
      maxRetries: 0,
      logLevel: 'error',
      telemetry: { enabled: false },
      // Otherwise a client that fails to connect at first refuses every later request.
      __SKIP_CONNECT__: true,
      channelOptions: {
        'grpc.initial_reconnect_backoff_ms': 100,
        'grpc.max_reconnect_backoff_ms': RECONNECT_MS_MAX,
        'grpc.enable_retries': 0,
        // Servers close connections that ping more often without a request.
        'grpc.keepalive_permit_without_calls': 0,
        'grpc.keepalive_time_ms': KEEPALIVE_MS,
      },
    });
    return this.#client;
  }
}

/** @throws AppError `index_engine_unsupported` for a release without BM25 */
function requireSupported(version: string): void {
  const [, product = 'milvus', major, minor] = /^(?:(milvus_lite)-)?v?(\d+)\.(\d+)/.exec(version) ?? [];
  const oldest = OLDEST[product] as readonly [number, number];
  const isKnown = major !== undefined && minor !== undefined;
  if (isKnown && (Number(major) - oldest[0] || Number(minor) - oldest[1]) >= 0) return;
  throw unusable(
    `the Milvus at index.milvus.url has version ${version}; it must be Milvus ${OLDEST['milvus']?.join('.')} or later`,
    'index_engine_unsupported',
  );
}

function mapError(error: unknown): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  const code: unknown = (error as Error & { code?: unknown }).code;
  if (code === UNAUTHENTICATED) return dependencyDown('index', 'Milvus refuses index.milvus.token', error);
  // All gRPC errors have a numeric code.
  if (typeof code === 'number') return dependencyDown('index', 'Milvus is not reachable', error);
  return error;
}

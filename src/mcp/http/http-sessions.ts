import { hash, randomUUID } from 'node:crypto';
import { type McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { LRUCache } from 'lru-cache';
import { tryLater } from '../../platform/errors.ts';
import type { AcceptedForms } from './accepted-forms.ts';
import type { Principal } from './authenticate.ts';

/** Session of the older revision. The client names it in `Mcp-Session-Id`. */
export interface HttpSession {
  readonly id: string;
  readonly principalId: string;
  readonly orgId: string;
  /** Client of the latest request. Its credential may be newer than the first request's. */
  readonly principal: Principal;
  /** False for a client that the server can't send requests to. */
  readonly readsStreams: boolean;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: McpServer;
}

interface Held extends HttpSession {
  principal: Principal;
  open: number;
  usedAtMs: number;
}

/** Idle time after which a session may be closed to make room for a new one. */
const EVICTABLE_MS = 60_000;
const RETRY_AFTER_SECONDS = 30;
const SWEEP_MS = 30_000;
const CLOSED_MAX = 10_000;
const TAG_CHARS = 16;

export interface SessionBounds {
  readonly max: number;
  /** Sessions of one organization. */
  readonly ofOneMax: number;
  readonly idleMs: number;
}

/** Bounded set of open sessions. Idle sessions end after a while. */
export class HttpSessions {
  readonly #sessions = new Map<string, Held>();
  /** Sessions that clients ended. */
  readonly #closed = new LRUCache<string, true>({ max: CLOSED_MAX });
  readonly #bounds: SessionBounds;
  readonly #onEnd: (id: string) => void;
  readonly #sweep: NodeJS.Timeout;

  /** @param onEnd called with the id of each session that ended */
  constructor(bounds: SessionBounds, onEnd: (id: string) => void) {
    this.#bounds = bounds;
    this.#onEnd = onEnd;
    const everyMs = Math.min(bounds.idleMs / 2, SWEEP_MS);
    this.#sweep = setInterval(() => this.#endIdle(), everyMs).unref();
  }

  get size(): number {
    return this.#sessions.size;
  }

  /**
   * Open a session for a client. It stays open only if the client's `initialize` succeeds, which `settle` checks.
   * @param forms accepted formats; without streams, responses are plain JSON
   * @param id id of a session opened by another process; default: a new id
   * @throws AppError `too_many_sessions` (503)
   */
  async open(
    principal: Principal,
    forms: AcceptedForms,
    makeServer: (session: Pick<HttpSession, 'id' | 'principal' | 'readsStreams'>) => Promise<McpServer>,
    id = newSessionId(principal),
  ): Promise<HttpSession> {
    this.#makeRoom(principal.orgId);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      enableJsonResponse: !forms.stream,
      onsessionclosed: () => {
        this.#closed.set(id, true);
        return this.end(id);
      },
    });
    const { id: principalId, orgId } = principal;
    const readsStreams = forms.stream;
    const session = { id, principalId, orgId, principal, readsStreams, transport, server: null as McpServer | null };
    // Reserve the place before the first `await`, so that the limit holds.
    const held = Object.assign(session, { open: 0, usedAtMs: performance.now() }) as Held & typeof session;
    this.#sessions.set(id, held);
    try {
      held.server = await makeServer(held);
      await held.server.connect(transport);
      return held;
    } catch (error) {
      await this.end(id);
      throw error;
    }
  }

  /** Find a session of this client; null for an unknown session or one of another client. */
  find(id: string, principal: Principal): HttpSession | null {
    const session = this.#sessions.get(id);
    if (session?.principalId !== principal.id) return null;
    session.principal = principal;
    return session;
  }

  /** Return true for the id of this client's session in another process, unless the client has ended it. */
  isElsewhere(id: string, principal: Principal): boolean {
    return isIdOf(id, principal) && !this.#sessions.has(id) && !this.#closed.has(id);
  }

  /** Mark a session as in use until the returned function is called. */
  use(id: string): () => void {
    const session = this.#sessions.get(id);
    if (session === undefined) return () => {};
    session.open += 1;
    session.usedAtMs = performance.now();
    return () => {
      session.open -= 1;
      session.usedAtMs = performance.now();
    };
  }

  /** End a session if its `initialize` did not succeed. */
  async settle(session: HttpSession): Promise<void> {
    if (session.transport.sessionId === undefined) await this.end(session.id);
  }

  async end(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#sessions.delete(id);
    this.#onEnd(id);
    await session.transport.close();
  }

  /** Close the streams that wait for notifications, which never end by themselves. */
  closeStreams(): void {
    for (const { transport } of this.#sessions.values()) transport.closeStandaloneSSEStream();
  }

  async endAll(): Promise<void> {
    clearInterval(this.#sweep);
    await Promise.all([...this.#sessions.keys()].map((id) => this.end(id)));
  }

  /**
   * Close a session if there is no room for another session of an organization. At its own limit, the organization
   * loses an idle session. At the total limit, the organization with the most sessions loses one, if it has more than
   * this one would have.
   */
  #makeRoom(orgId: string): void {
    const { max, ofOneMax } = this.#bounds;
    const byOrganization = Map.groupBy(this.#sessions.values(), (session) => session.orgId);
    const own = byOrganization.get(orgId) ?? [];
    if (own.length >= ofOneMax) this.#evict(own, false);
    if (this.#sessions.size < max) return;
    const most = [...byOrganization.values()].sort((one, other) => other.length - one.length)[0] ?? [];
    this.#evict(most.length > own.length + 1 ? most : own, most.length > own.length + 1);
  }

  /** @param isForced true to close the least recently used session if none is idle */
  #evict(candidates: readonly Held[], isForced: boolean): void {
    const nowMs = performance.now();
    const oldestFirst = candidates.toSorted((one, other) => one.usedAtMs - other.usedAtMs);
    const idle = oldestFirst.find(({ open, usedAtMs }) => open === 0 && nowMs - usedAtMs >= EVICTABLE_MS);
    const evicted = idle ?? (isForced ? (oldestFirst.find(({ open }) => open === 0) ?? oldestFirst[0]) : undefined);
    if (evicted === undefined) {
      throw tryLater('the tool server has too many open sessions; close one, or try again later', 'too_many_sessions', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    void this.end(evicted.id);
  }

  #endIdle(): void {
    const nowMs = performance.now();
    for (const { id, open, usedAtMs } of this.#sessions.values()) {
      if (open === 0 && nowMs - usedAtMs >= this.#bounds.idleMs) void this.end(id);
    }
  }
}

/** Create an id that every process can recognise as this client's. */
function newSessionId(principal: Principal): string {
  const uuid = randomUUID();
  return `${uuid}.${tagOf(uuid, principal)}`;
}

function isIdOf(id: string, principal: Principal): boolean {
  const [uuid = '', tag, ...rest] = id.split('.');
  return rest.length === 0 && tag === tagOf(uuid, principal);
}

/** Compute the part of an id that depends on the client. It keeps others from taking over the id, but isn't secret. */
function tagOf(uuid: string, { id }: Principal): string {
  return hash('sha256', `${uuid} ${id}`, 'hex').slice(0, TAG_CHARS);
}

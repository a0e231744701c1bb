import type { RequestListener } from 'node:http';
import Koa from 'koa';
import type { FailedLogins } from '../src/access/failed-logins.ts';
import type { MovingOrganizations } from '../src/access/moving-organizations.ts';
import type { FairGate } from '../src/platform/fair-gate.ts';
import type { Logger } from '../src/platform/logger.ts';
import type { RefusalBrake } from '../src/platform/refusal-brake.ts';
import type { Tracing } from '../src/platform/span.ts';
import type { Threads } from '../src/platform/threads.ts';
import type { RateLimiter } from '../src/usage/rates.ts';
import type { BodyLimits } from './body/body-limits.ts';
import type { BodyMemory } from './body/body-memory.ts';
import { allowOrigins } from './middleware/allow-origins.ts';
import { authorize, brakeSignIns, type ResolveCaller } from './middleware/authorize.ts';
import { closeUnread } from './middleware/close-unread.ts';
import { handle } from './middleware/handle.ts';
import { type Idempotency, idempotency } from './middleware/idempotency.ts';
import { limitRate } from './middleware/limit-rate.ts';
import { readForm } from './middleware/read-form.ts';
import { readIdempotencyKey } from './middleware/read-idempotency-key.ts';
import { readJson } from './middleware/read-json.ts';
import { readSigned } from './middleware/read-signed.ts';
import { readUpload } from './middleware/read-upload.ts';
import { type RequestMetrics, recordRequest } from './middleware/record-request.ts';
import { refuseUnmatched } from './middleware/refuse-unmatched.ts';
import { refuseWhileMoving } from './middleware/refuse-while-moving.ts';
import { renderErrors } from './middleware/render-errors.ts';
import { reserveMemory } from './middleware/reserve-memory.ts';
import { setRoute } from './middleware/set-route.ts';
import { shareCapacity } from './middleware/share-capacity.ts';
import { startRequest } from './middleware/start-request.ts';
import { validateBody } from './middleware/validate-body.ts';
import { validateUrl } from './middleware/validate-url.ts';
import { writeReply } from './middleware/write-reply.ts';
import { mountRoutes } from './mount-routes.ts';
import type { ReplyMemory } from './reply-memory.ts';
import type { OriginOf } from './request-origin.ts';
import type { RequestMiddleware, RequestState } from './request-state.ts';
import type { Capacity, Route } from './route.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

export interface AppSettings {
  readonly routes: readonly Route[];
  readonly resolveCaller: ResolveCaller;
  /** Organizations that are moving to another installation and must not change. */
  readonly moving: Pick<MovingOrganizations, 'requireStaying'>;
  /** Brake on guessing credentials. */
  readonly failedLogins: FailedLogins;
  readonly idempotency: Idempotency;
  readonly rates: RateLimiter;
  readonly bodyMemory: BodyMemory;
  readonly replyMemory: ReplyMemory;
  /** Brake on bodies refused before they have arrived. */
  readonly unreadBodies: RefusalBrake;
  /** Threads to parse large bodies on. */
  readonly threads: Threads;
  /** Gates that share resources among organizations. */
  readonly capacity: Readonly<Record<Capacity, FairGate>>;
  readonly limits: BodyLimits;
  readonly logger: Logger;
  readonly metrics: RequestMetrics;
  /** Null (default) to disable tracing. */
  readonly tracing?: Tracing | null;
  /** Proxies trusted to supply client addresses, for the access log and the brake on guessing credentials. */
  readonly proxies: TrustedProxies;
  /** Origins whose pages may call the API from a browser; none by default. */
  readonly corsOrigins?: readonly string[];
  /** Return the address of this service for links in responses; without it, responses have no links. */
  readonly originOf?: OriginOf;
  /** Aborts running requests when the drain deadline has passed. */
  readonly drain?: AbortSignal;
}

/**
 * Create the HTTP application: the middleware of every request, then that of the matching route. It never listens;
 * `http-server.ts` does.
 * @throws TypeError for a route that cannot be mounted
 */
export function createApp(settings: AppSettings): { callback: RequestListener } {
  const { logger, metrics } = settings;
  const app = new Koa<RequestState>();
  app.on('error', (error: unknown) => logger.debug({ err: error }, 'a response was cut off'));
  app.use(startRequest(settings.drain, settings.proxies, settings.originOf ?? (() => null), settings.tracing ?? null));
  app.use(recordRequest(metrics, logger));
  const { corsOrigins = [] } = settings;
  if (corsOrigins.length > 0) app.use(allowOrigins(corsOrigins) as Koa.Middleware<RequestState>);
  app.use(closeUnread(settings.unreadBodies));
  app.use(renderErrors(logger));
  app.use(mountRoutes(settings.routes, (route) => middlewareOf(route, settings)));
  app.use(refuseUnmatched());
  return { callback: app.callback() as RequestListener };
}

/** List the middleware of a route in execution order. Omit steps that the route doesn't declare. */
function middlewareOf(route: Route, settings: AppSettings): RequestMiddleware[] {
  const { limits, logger } = settings;
  const { capacity = 'queries' } = route;
  const jsonBytesMax = route.bodyLimitBytes ?? limits.bodyBytes;
  const rate = route.axis && limitRate(route.axis, settings.rates);
  // Refuse an upload beyond the rate before receiving its content.
  const isRatedFirst = route.reads === 'upload';
  const whileStaying = route.method !== 'GET' && route.whileMoving !== true && refuseWhileMoving(settings.moving);
  const steps = [
    setRoute(route),
    writeReply(settings.replyMemory),
    route.access !== 'public' &&
      route.access !== 'signature' &&
      authorize(route, settings.resolveCaller, settings.failedLogins),
    whileStaying,
    route.signsIn === true && brakeSignIns(settings.failedLogins),
    isRatedFirst && rate,
    route.reads !== 'none' && reserveMemory(settings.bodyMemory),
    route.reads === 'json' && readJson(route, jsonBytesMax),
    route.reads === 'form' && readForm(jsonBytesMax),
    route.reads === 'signed' && readSigned(jsonBytesMax, route.checkHeaders),
    route.reads === 'upload' && readUpload(route, limits),
    validateUrl(route),
    route.idempotent && readIdempotencyKey(route),
    route.reads !== 'none' && route.reads !== 'signed' && validateBody(route, settings.threads),
    !isRatedFirst && rate,
    capacity !== 'none' && shareCapacity(settings.capacity[capacity]),
    route.idempotent && idempotency(settings.idempotency, logger),
    // A body may take minutes to arrive, and the move may begin meanwhile.
    whileStaying,
    handle(route),
  ];
  return steps.filter((step) => typeof step === 'function');
}

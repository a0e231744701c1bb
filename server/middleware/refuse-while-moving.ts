import type { MovingOrganizations } from '../../src/access/moving-organizations.ts';
import type { RequestMiddleware } from '../request-state.ts';

/**
 * Refuse a change while the caller's organization moves to another installation. Throws AppError 503
 * `organization_moving`.
 */
export function refuseWhileMoving(moving: Pick<MovingOrganizations, 'requireStaying'>): RequestMiddleware {
  return async (ctx, next) => {
    const { caller } = ctx.state;
    if (caller !== null) await moving.requireStaying(caller.orgId);
    await next();
  };
}

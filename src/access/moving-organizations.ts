import { organizationMoving } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { selectMoveStates } from './move-store.ts';
import type { MoveState } from './schema.ts';

/** Time for which the states are cached, and so the maximum delay until a process notices a change. */
export const STATES_KEPT_MS = 500;

/** Reads which organizations are moving, at most once per `STATES_KEPT_MS`. */
export class MovingOrganizations {
  readonly #sql: Sql;
  #states: Promise<ReadonlyMap<string, MoveState>> = Promise.resolve(new Map());
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** @throws AppError `organization_moving` (503) if the organization must not change now */
  async requireStaying(orgId: string): Promise<void> {
    if (performance.now() >= this.#readMs + STATES_KEPT_MS) {
      this.#readMs = performance.now();
      this.#states = selectMoveStates(this.#sql);
      // A failure is thrown below, and the next request reads again.
      this.#states.catch(() => {
        this.#readMs = Number.NEGATIVE_INFINITY;
      });
    }
    if ((await this.#states).has(orgId)) throw organizationMoving();
  }
}

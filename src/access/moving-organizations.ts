import { organizationMoving } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { selectMoveStates } from './move-store.ts';
import type { MoveState } from './schema.ts';

/** Time for which the states are kept, and with it the longest delay until a process follows a change. */
export const STATES_KEPT_MS = 500;

/** Reads which organizations move, at most once in `STATES_KEPT_MS`. */
export class MovingOrganizations {
  readonly #sql: Sql;
  #states: Promise<ReadonlyMap<string, MoveState>> = Promise.resolve(new Map());
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** @throws AppError `organization_moving` (503) if nothing of the organization may change */
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

import { randomUUID } from 'node:crypto';
import type { ApplianceBase } from '../appliance/appliance.ts';
import type { JobsSelector } from '../jobs/watch.ts';
import { notFound } from '../platform/errors.ts';

/** Selectors of the watches running in this process, by watch id. An entry lives as long as its watch. */
const running = new WeakMap<ApplianceBase, Map<string, JobsSelector>>();

/**
 * Register a watch, so that later operations can change its selection.
 * @returns its id, and a function that unregisters it
 */
export function registerWatch(appliance: ApplianceBase, selector: JobsSelector): { id: string; end: () => void } {
  const watches = running.get(appliance) ?? new Map<string, JobsSelector>();
  running.set(appliance, watches);
  const id = randomUUID();
  watches.set(id, selector);
  return { id, end: () => watches.delete(id) };
}

/** Find the selector of a watch. @throws AppError `watch_not_found` (404) once it has ended */
export function findSelector(appliance: ApplianceBase, id: string): JobsSelector {
  const selector = running.get(appliance)?.get(id);
  if (selector === undefined) throw notFound('watch', id);
  return selector;
}

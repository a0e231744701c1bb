import { Gauge, type Registry } from 'prom-client';

/** Load of a pool of PostgreSQL connections or of threads. */
export interface PoolLoad {
  readonly pool: string;
  readonly max: number;
  /** Return the number of calls in progress, including those that wait for a place. */
  readonly pending: () => number;
}

/** Define the metrics of the pools of this process. */
export function openPoolMetrics(registry: Registry, pools: readonly PoolLoad[]): void {
  const gauge = (name: string, help: string, read: (load: PoolLoad) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['pool'],
      registers: [registry],
      collect() {
        for (const load of pools) this.set({ pool: load.pool }, read(load));
      },
    });
  gauge('service_pool_size', 'Places of a pool of connections or threads.', ({ max }) => max);
  gauge('service_pool_used', 'Places of a pool that are in use.', ({ max, pending }) => Math.min(max, pending()));
  gauge('service_pool_waiting', 'Pieces of work that wait for a place of a pool.', ({ max, pending }) =>
    Math.max(0, pending() - max),
  );
}

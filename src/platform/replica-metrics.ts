import { Counter, Gauge, type Registry } from 'prom-client';
import type { Reads } from './postgres.ts';

/** Define the metrics of the replica of PostgreSQL, if there is one. */
export function openReplicaMetrics(registry: Registry, reads: Pick<Reads, 'replica'>): void {
  if (reads.replica === null) return;
  const registers = [registry];
  new Gauge({
    name: 'service_replica_usable',
    help: '1 if the replica of PostgreSQL answers reads, 0 if the primary answers all of them.',
    registers,
    collect() {
      this.set(reads.replica?.state === 'ok' ? 1 : 0);
    },
  });
  new Gauge({
    name: 'service_replica_lag_seconds',
    help: 'Age of the data of the replica at the last check; absent if unknown.',
    labelNames: ['replica'],
    registers,
    collect() {
      this.reset();
      const lagMs = reads.replica?.lagMs ?? null;
      if (lagMs !== null) this.set({ replica: 'postgres' }, lagMs / 1000);
    },
  });
  new Counter({
    name: 'service_replica_reads_total',
    help: 'Reads that the replica may answer, by the server that answered.',
    labelNames: ['server'],
    registers,
    collect() {
      this.reset();
      this.inc({ server: 'replica' }, reads.replica?.answered ?? 0);
      this.inc({ server: 'primary' }, reads.replica?.refused ?? 0);
    },
  });
}

import { Counter, Gauge, type Registry } from 'prom-client';

/** Sources of vectors before a provider, in lookup order. */
const LAYERS = ['memory', 'in_flight', 'redis'] as const;
type CacheLayer = (typeof LAYERS)[number];

export interface CacheMetrics {
  /** Count texts looked up in a layer. `in_flight`: already in progress for another request or earlier in this one. */
  count(layer: CacheLayer, hits: number, misses: number): void;
  /** Set the function that returns the size of the memory cache. It is called when metrics are collected. */
  watchBytes(read: () => number): void;
}

export function openCacheMetrics(registry: Registry): CacheMetrics {
  const texts = new Counter({
    name: 'service_embedding_cache_texts_total',
    help: 'Texts looked up before a provider is called, by layer and outcome.',
    labelNames: ['layer', 'outcome'],
    registers: [registry],
  });
  let readBytes = () => 0;
  new Gauge({
    name: 'service_embedding_cache_bytes',
    help: 'Memory taken by cached vectors.',
    registers: [registry],
    collect() {
      this.set(readBytes());
    },
  });
  for (const layer of LAYERS) for (const outcome of ['hit', 'miss']) texts.inc({ layer, outcome }, 0);
  return {
    count(layer, hits, misses) {
      texts.inc({ layer, outcome: 'hit' }, hits);
      texts.inc({ layer, outcome: 'miss' }, misses);
    },
    watchBytes(read) {
      readBytes = read;
    },
  };
}

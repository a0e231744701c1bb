import { Counter, Gauge, type Registry } from 'prom-client';

/** Sources of a vector before a provider is called, in the order in which they are tried. */
type CacheLayer = 'memory' | 'in_flight' | 'redis';

export interface CacheMetrics {
  /** Count texts looked up in a layer. `in_flight`: already in progress, for another request or earlier in this one. */
  count(layer: CacheLayer, hits: number, misses: number): void;
  /** Set the function that returns the bytes of the memory cache; it is called when metrics are collected. */
  watchBytes(read: () => number): void;
}

export function openCacheMetrics(registry: Registry): CacheMetrics {
  const registers = [registry];
  const texts = new Counter({
    name: 'service_embedding_cache_texts_total',
    help: 'Texts looked up before a provider is called, by layer and outcome.',
    labelNames: ['layer', 'outcome'],
    registers,
  });
  let readBytes = () => 0;
  new Gauge({
    name: 'service_embedding_cache_bytes',
    help: 'Memory taken by cached vectors.',
    registers,
    collect() {
      this.set(readBytes());
    },
  });
  const of = (layer: CacheLayer) => ({
    hits: texts.labels({ layer, outcome: 'hit' }),
    misses: texts.labels({ layer, outcome: 'miss' }),
  });
  const layers = { memory: of('memory'), in_flight: of('in_flight'), redis: of('redis') };
  return {
    count(layer, hits, misses) {
      if (hits > 0) layers[layer].hits.inc(hits);
      if (misses > 0) layers[layer].misses.inc(misses);
    },
    watchBytes(read) {
      readBytes = read;
    },
  };
}

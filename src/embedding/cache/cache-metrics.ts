import { Gauge, type Registry } from 'prom-client';
import { TallyMetric } from '../../platform/metric-series.ts';

/** Sources of a vector before a provider is called, in the order in which they are tried. */
type CacheLayer = 'memory' | 'in_flight' | 'redis';

export interface CacheMetrics {
  /** Count texts looked up in a layer. `in_flight`: already in progress, for another request or earlier in this one. */
  count(layer: CacheLayer, hits: number, misses: number): void;
  /** Set the function that returns the bytes of the memory cache; it is called when metrics are collected. */
  watchBytes(read: () => number): void;
}

export function openCacheMetrics(registry: Registry): CacheMetrics {
  const texts = new TallyMetric('counter', {
    name: 'service_embedding_cache_texts_total',
    help: 'Texts looked up before a provider is called, by layer and outcome.',
    labelNames: ['layer', 'outcome'],
    registry,
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
  const of = (layer: CacheLayer) => ({
    hits: texts.of({ layer, outcome: 'hit' }),
    misses: texts.of({ layer, outcome: 'miss' }),
  });
  const layers = { memory: of('memory'), in_flight: of('in_flight'), redis: of('redis') };
  return {
    count(layer, hits, misses) {
      layers[layer].hits.add(hits);
      layers[layer].misses.add(misses);
    },
    watchBytes(read) {
      readBytes = read;
    },
  };
}

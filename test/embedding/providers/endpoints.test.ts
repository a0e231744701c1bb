import { describe, expect, it } from 'vitest';
import { type EndpointSettings, Endpoints } from '../../../src/embedding/providers/endpoints.ts';
import { Secret } from '../../../src/platform/secret.ts';

function start(weights: readonly number[]) {
  let nowMs = 0;
  const cooldowns: string[] = [];
  const settings: EndpointSettings[] = weights.map((weight, index) => ({
    name: `key-${index + 1}`,
    apiKey: new Secret(`secret-${index + 1}`),
    weight,
  }));
  const endpoints = new Endpoints(settings, {
    now: () => nowMs,
    onCooldown: (...event) => cooldowns.push(event.join(' ')),
  });
  const at = (index: number): EndpointSettings => settings[index] as EndpointSettings;
  return {
    endpoints,
    cooldowns,
    at,
    names: (count: number) => Array.from({ length: count }, () => endpoints.choose()?.endpoint.name ?? null),
    advance: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe('Endpoints', () => {
  it('each endpoint gets its share by weight, spread evenly', () => {
    const { names } = start([5, 1, 1]);
    expect(names(7)).toEqual(['key-1', 'key-1', 'key-2', 'key-1', 'key-3', 'key-1', 'key-1']);
    const later = names(700);
    expect(later.filter((name) => name === 'key-1')).toHaveLength(500);
    expect(later.filter((name) => name === 'key-3')).toHaveLength(100);
  });

  it('a refused endpoint cools down for a minute, then for twice as long each time, up to ten minutes', () => {
    const { endpoints, names, at, cooldowns, advance } = start([1, 1]);
    endpoints.refused(at(0));
    endpoints.refused(at(0));
    expect(names(3)).toEqual(['key-2', 'key-2', 'key-2']);
    advance(60_000);
    expect(new Set(names(4))).toEqual(new Set(['key-1', 'key-2']));
    for (const ms of [120_000, 240_000, 480_000, 600_000, 600_000]) {
      endpoints.refused(at(0));
      advance(ms);
    }
    expect(cooldowns).toEqual([60, 120, 240, 480, 600, 600].map((seconds) => `key-1 refused ${seconds * 1000}`));
    endpoints.succeeded(at(0));
    endpoints.refused(at(0));
    expect(cooldowns.at(-1)).toBe('key-1 refused 60000');
  });

  it('no endpoint is chosen while all are refused, and the remaining time is reported', () => {
    const { endpoints, names, at, advance } = start([1, 1]);
    endpoints.refused(at(0));
    advance(1_000);
    endpoints.refused(at(1));
    expect(names(1)).toEqual([null]);
    expect(endpoints.refusedForMs()).toBe(59_000);
    advance(59_000);
    expect(names(2)).toEqual(['key-1', 'key-1']);
  });

  it('an endpoint cools down after three failures in a row', () => {
    const { endpoints, names, at, advance } = start([1, 1]);
    endpoints.failed(at(0), null);
    endpoints.failed(at(0), null);
    expect(new Set(names(2))).toEqual(new Set(['key-1', 'key-2']));
    endpoints.failed(at(0), null);
    expect(names(2)).toEqual(['key-2', 'key-2']);
    advance(1_000);
    expect(new Set(names(4))).toEqual(new Set(['key-1', 'key-2']));
  });

  it('only consecutive failures are counted', () => {
    const { endpoints, at, cooldowns } = start([1, 1]);
    for (let round = 0; round < 5; round++) {
      endpoints.failed(at(0), null);
      endpoints.failed(at(0), null);
      endpoints.succeeded(at(0));
    }
    expect(cooldowns).toEqual([]);
  });

  it('while all endpoints cool down, the one that is ready first is chosen', () => {
    const { endpoints, at, names } = start([1, 1]);
    for (let count = 0; count < 3; count++) endpoints.failed(at(1), null);
    endpoints.failed(at(0), 5_000);
    expect(names(2)).toEqual(['key-2', 'key-2']);
  });

  it('an endpoint is not used before the time that a vendor asked for, and the wait is reported', () => {
    const { endpoints, at, names, advance } = start([1, 1]);
    endpoints.failed(at(0), 3_000);
    expect(names(2)).toEqual(['key-2', 'key-2']);
    endpoints.failed(at(1), 2_000);
    expect(endpoints.choose()).toEqual({ endpoint: at(1), waitMs: 2_000 });
    advance(2_000);
    expect(endpoints.choose()).toEqual({ endpoint: at(1), waitMs: 0 });
  });

  it('an endpoint that a call has not tried yet is preferred', () => {
    const { endpoints, at } = start([100, 1]);
    expect(endpoints.choose(new Set([at(0)]))?.endpoint).toBe(at(1));
    expect(endpoints.hasFresh(new Set([at(0)]))).toBe(true);
    expect(endpoints.choose(new Set([at(0), at(1)]))).not.toBeNull();
    expect(endpoints.hasFresh(new Set([at(0), at(1)]))).toBe(false);
  });
});

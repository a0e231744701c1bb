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
    onCooldown: (...told) => cooldowns.push(told.join(' ')),
  });
  const at = (index: number): EndpointSettings => settings[index] as EndpointSettings;
  return {
    endpoints,
    cooldowns,
    at,
    names: (count: number) => Array.from({ length: count }, () => endpoints.choose()?.endpoint.name ?? null),
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe('Endpoints', () => {
  it('gives each its share by weight, spread out evenly', () => {
    const { names } = start([5, 1, 1]);
    expect(names(7)).toEqual(['key-1', 'key-1', 'key-2', 'key-1', 'key-3', 'key-1', 'key-1']);
    const later = names(700);
    expect(later.filter((name) => name === 'key-1')).toHaveLength(500);
    expect(later.filter((name) => name === 'key-3')).toHaveLength(100);
  });

  it('leaves a refused one alone for a minute, then for twice as long each time, up to ten', () => {
    const { endpoints, names, at, cooldowns, pass } = start([1, 1]);
    endpoints.refused(at(0));
    endpoints.refused(at(0));
    expect(names(3)).toEqual(['key-2', 'key-2', 'key-2']);
    pass(60_000);
    expect(new Set(names(4))).toEqual(new Set(['key-1', 'key-2']));
    for (const ms of [120_000, 240_000, 480_000, 600_000, 600_000]) {
      endpoints.refused(at(0));
      pass(ms);
    }
    expect(cooldowns).toEqual([60, 120, 240, 480, 600, 600].map((seconds) => `key-1 refused ${seconds * 1000}`));
    endpoints.succeeded(at(0));
    endpoints.refused(at(0));
    expect(cooldowns.at(-1)).toBe('key-1 refused 60000');
  });

  it('has none while all are refused, and says until when', () => {
    const { endpoints, names, at, pass } = start([1, 1]);
    endpoints.refused(at(0));
    pass(1_000);
    endpoints.refused(at(1));
    expect(names(1)).toEqual([null]);
    expect(endpoints.refusedForMs()).toBe(59_000);
    pass(59_000);
    expect(names(2)).toEqual(['key-1', 'key-1']);
  });

  it('leaves one alone for a moment after a run of failures', () => {
    const { endpoints, names, at, pass } = start([1, 1]);
    endpoints.failed(at(0), null);
    endpoints.failed(at(0), null);
    expect(new Set(names(2))).toEqual(new Set(['key-1', 'key-2']));
    endpoints.failed(at(0), null);
    expect(names(2)).toEqual(['key-2', 'key-2']);
    pass(1_000);
    expect(new Set(names(4))).toEqual(new Set(['key-1', 'key-2']));
  });

  it('counts only failures in a row', () => {
    const { endpoints, at, cooldowns } = start([1, 1]);
    for (let round = 0; round < 5; round++) {
      endpoints.failed(at(0), null);
      endpoints.failed(at(0), null);
      endpoints.succeeded(at(0));
    }
    expect(cooldowns).toEqual([]);
  });

  it('offers the one that is ready first while all cool down', () => {
    const { endpoints, at, names } = start([1, 1]);
    for (let count = 0; count < 3; count++) endpoints.failed(at(1), null);
    endpoints.failed(at(0), 5_000);
    expect(names(2)).toEqual(['key-2', 'key-2']);
  });

  it('keeps to the time that a vendor asked for, and tells how long that is', () => {
    const { endpoints, at, names, pass } = start([1, 1]);
    endpoints.failed(at(0), 3_000);
    expect(names(2)).toEqual(['key-2', 'key-2']);
    endpoints.failed(at(1), 2_000);
    expect(endpoints.choose()).toEqual({ endpoint: at(1), waitMs: 2_000 });
    pass(2_000);
    expect(endpoints.choose()).toEqual({ endpoint: at(1), waitMs: 0 });
  });

  it('prefers what a call has not tried yet', () => {
    const { endpoints, at } = start([100, 1]);
    expect(endpoints.choose(new Set([at(0)]))?.endpoint).toBe(at(1));
    expect(endpoints.hasFresh(new Set([at(0)]))).toBe(true);
    expect(endpoints.choose(new Set([at(0), at(1)]))).not.toBeNull();
    expect(endpoints.hasFresh(new Set([at(0), at(1)]))).toBe(false);
  });
});

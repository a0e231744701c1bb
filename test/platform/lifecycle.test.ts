import { expect, test } from 'vitest';
import { type Service, serviceGroup } from '../../src/platform/lifecycle.ts';

test('the services of a group start in order and stop in parallel, even if one fails to stop', async () => {
  const events: string[] = [];
  const stops = Promise.withResolvers<void>();
  const service = (name: string, fault?: Error): Service => ({
    name,
    async start() {
      events.push(`start ${name}`);
    },
    async stop() {
      events.push(`stop ${name}`);
      await stops.promise;
      events.push(`stopped ${name}`);
      if (fault) throw fault;
    },
  });
  const group = serviceGroup('all', [service('a'), service('b', new Error('b is stuck')), service('c')]);
  await group.start(new AbortController().signal);
  const stopped = group.stop();
  stops.resolve();
  await expect(stopped).rejects.toThrow('b is stuck');
  const expected = ['start a', 'start b', 'start c', 'stop a', 'stop b', 'stop c'];
  expect(events.slice(0, 6)).toEqual(expected);
  expect(events.slice(6).toSorted()).toEqual(['stopped a', 'stopped b', 'stopped c']);
});

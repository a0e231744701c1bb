import type { RedisConnection } from '../platform/redis.ts';
import { type RateWindow, WINDOW_MS } from './rate-window.ts';

/**
 * Script of the sliding window counter: one atomic step on Redis's clock, so that the processes' clocks don't matter.
 * It computes the sum of `inLastMinute`. It returns {allowed, previous, current, elapsed ms}.
 */
const TAKE = `
local limit = tonumber(ARGV[1])
local size = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local number = math.floor(now / size)
local elapsed = now - number * size
local stored = redis.call('HMGET', KEYS[1], 'number', 'previous', 'current')
local previous = 0
local current = 0
if tonumber(stored[1]) == number then
  previous = tonumber(stored[2])
  current = tonumber(stored[3])
elseif tonumber(stored[1]) == number - 1 then
  previous = tonumber(stored[3])
end
if current + previous * (1 - elapsed / size) + 1 > limit then
  return {0, previous, current, elapsed}
end
current = current + 1
redis.call('HSET', KEYS[1], 'number', number, 'previous', previous, 'current', current)
redis.call('PEXPIRE', KEYS[1], 2 * size)
return {1, previous, current, elapsed}
`;

const PREFIX = 'service:rate:';

/** Client with the script as a method. ioredis sends the script only if Redis doesn't know its hash. */
type WithScript = RedisConnection['client'] & {
  serviceTakeRate(key: string, limit: number, windowMs: number): Promise<[number, number, number, number]>;
};

/** Open a window that all processes share. `take` rejects if Redis is unreachable. */
export function openRedisRateWindow(client: RedisConnection['client']): RateWindow {
  client.defineCommand('serviceTakeRate', { numberOfKeys: 1, lua: TAKE });
  return {
    async take(key, limit) {
      const answer = await (client as WithScript).serviceTakeRate(PREFIX + key, limit, WINDOW_MS);
      const [allowed, previous, current, elapsedMs] = answer;
      return { allowed: allowed === 1, previous, current, elapsedMs };
    },
  };
}

import type { RedisConnection } from '../platform/redis.ts';
import { WINDOW_MS } from './rate-window.ts';
import type { RequestLog } from './request-log.ts';

/**
 * Script of the log: one atomic step on Redis's clock, so that the processes' clocks don't matter. It returns {allowed,
 * count, ms until one more request is allowed}.
 */
const TAKE = `
local limit = tonumber(ARGV[1])
local size = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local first = redis.call('LINDEX', KEYS[1], 0)
while first and tonumber(first) <= now - size do
  redis.call('LPOP', KEYS[1])
  first = redis.call('LINDEX', KEYS[1], 0)
end
local count = redis.call('LLEN', KEYS[1])
local allowed = 0
if count < limit then
  allowed = 1
  count = redis.call('RPUSH', KEYS[1], now)
  redis.call('PEXPIRE', KEYS[1], size)
end
local oldest = redis.call('LINDEX', KEYS[1], math.max(0, count - limit))
return {allowed, count, (oldest and tonumber(oldest) or now - size) + size - now}
`;

const PREFIX = 'service:rate-log:';

/** Client with the script as a method. ioredis sends the script only if Redis doesn't know its hash. */
type WithScript = RedisConnection['client'] & {
  serviceTakeLoggedRate(key: string, limit: number, windowMs: number): Promise<[number, number, number]>;
};

/** Open a log that all processes share. `take` rejects if Redis is unreachable. */
export function openRedisRequestLog(client: RedisConnection['client']): RequestLog {
  client.defineCommand('serviceTakeLoggedRate', { numberOfKeys: 1, lua: TAKE });
  return {
    async take(key, limit) {
      const answer = await (client as WithScript).serviceTakeLoggedRate(PREFIX + key, limit, WINDOW_MS);
      const [allowed, count, waitMs] = answer;
      return { allowed: allowed === 1, count, waitMs };
    },
  };
}

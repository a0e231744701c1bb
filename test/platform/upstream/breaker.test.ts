import { describe, expect, it } from 'vitest';
import { Breaker, type Permit } from '../../../src/platform/upstream/breaker.ts';

function start() {
  let nowMs = 0;
  const states: string[] = [];
  const breaker = new Breaker({ failuresMax: 3, now: () => nowMs, onState: (state) => states.push(state) });
  const enter = (): Permit => {
    const permit = breaker.enter();
    if (!permit) throw new Error('the breaker is open');
    return permit;
  };
  const open = () => {
    for (let count = 0; count < 3; count++) enter().failed();
  };
  return {
    breaker,
    states,
    enter,
    open,
    advance: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe('Breaker', () => {
  it('a breaker opens after the maximum number of consecutive failures', () => {
    const { breaker, enter } = start();
    enter().failed();
    enter().failed();
    expect(breaker.state).toBe('closed');
    enter().failed();
    expect(breaker.state).toBe('open');
    expect(breaker.enter()).toBeNull();
    expect(breaker.waitMs()).toBe(10_000);
  });

  it('a breaker counts only consecutive failures', () => {
    const { breaker, enter } = start();
    for (let round = 0; round < 5; round++) {
      enter().failed();
      enter().failed();
      enter().succeeded();
    }
    expect(breaker.state).toBe('closed');
  });

  it('an open breaker permits a single probe when its time is over, and closes if the probe succeeds', () => {
    const { breaker, states, enter, open, advance } = start();
    open();
    advance(9_999);
    expect(breaker.enter()).toBeNull();
    advance(1);
    const probe = enter();
    expect(breaker.enter()).toBeNull();
    probe.succeeded();
    enter();
    enter();
    expect(states).toEqual(['open', 'half-open', 'closed']);
  });

  it('a breaker stays open twice as long each time that the probe fails, up to a bound', () => {
    const { breaker, enter, open, advance } = start();
    open();
    const waits: number[] = [];
    for (let round = 0; round < 5; round++) {
      waits.push(breaker.waitMs());
      advance(breaker.waitMs());
      enter().failed();
    }
    expect(waits).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);
    advance(60_000);
    enter().succeeded();
    open();
    expect(breaker.waitMs()).toBe(10_000);
  });

  it('a breaker permits another probe after a probe was abandoned', () => {
    const { breaker, enter, open, advance } = start();
    open();
    advance(10_000);
    enter().abandoned();
    expect(breaker.state).toBe('open');
    enter().succeeded();
    expect(breaker.state).toBe('closed');
  });

  it('an open breaker ignores the outcome of calls from before it opened', () => {
    const { breaker, enter, open } = start();
    const early = [enter(), enter()];
    open();
    early[0]?.succeeded();
    early[1]?.failed();
    expect(breaker.state).toBe('open');
    expect(breaker.waitMs()).toBe(10_000);
  });
});

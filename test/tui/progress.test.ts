import { render } from 'ink-testing-library';
import { createElement } from 'react';
import { expect, test } from 'vitest';
import { Progress } from '../../src/tui/progress.ts';

const state = { label: 'uploading', done: 0, total: 4, failed: 0, last: '', isColoured: false };

test('progress is one line with a bar, counts and the last finished item', () => {
  const view = render(createElement(Progress, state));
  expect(view.lastFrame()).toBe(`uploading ${'░'.repeat(30)} 0/4`);
  view.rerender(createElement(Progress, { ...state, done: 2, failed: 1, last: '휴가.md' }));
  expect(view.lastFrame()).toBe(`uploading ${'█'.repeat(15)}${'░'.repeat(15)} 2/4 1 failed 휴가.md`);
  view.rerender(createElement(Progress, { ...state, done: 4, last: 'x'.repeat(500) }));
  expect(view.lastFrame()).toMatch(/^uploading █{30} 4\/4 x+…$/);
  view.unmount();
});

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { optimizeSooner } from '../../src/platform/optimize-sooner.ts';

const module = fileURLToPath(new URL('../../src/platform/optimize-sooner.ts', import.meta.url));

/** Count the calls after which a function of a new process is compiled by Maglev or TurboFan. */
const COUNT = `
  const { optimizeSooner } = await import(${JSON.stringify(module)});
  if (process.argv.at(-1) === 'sooner') optimizeSooner();
  const OPTIMIZED = (1 << 4) | (1 << 5);
  const add = new Function('a', 'b', 'let sum = 0; for (let i = 0; i < 10; i++) sum += a * i + b; return sum;');
  const statusOf = new Function('f', 'return %GetOptimizationStatus(f)');
  let calls = 0;
  for (; (statusOf(add) & OPTIMIZED) === 0 && calls < 100000; calls++) add(calls, 1);
  console.log(calls);
`;

async function callsUntilOptimized(mode: string): Promise<number> {
  // Without threads that compile, so that the count does not depend on when they get a core.
  const flags = ['--allow-natives-syntax', '--no-concurrent-recompilation', '--no-warnings'];
  const args = [...flags, '--input-type=module', '--eval', COUNT, mode];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  expect(stderr).toBe('');
  return Number(stdout);
}

test('functions are optimised after fewer calls, and V8 knows the flags', async () => {
  const [byDefault, sooner] = await Promise.all([callsUntilOptimized('default'), callsUntilOptimized('sooner')]);
  expect(sooner).toBeGreaterThan(0);
  expect(sooner).toBeLessThan(byDefault / 2);
});

test('a version of V8 that was not looked at keeps its defaults', () => {
  expect(optimizeSooner('99.1.2')).toBe(false);
});

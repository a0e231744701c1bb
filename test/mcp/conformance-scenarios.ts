import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Revision } from './support.ts';

const require = createRequire(import.meta.url);

/** Scenarios of the official suite that a server with tools alone can be measured by. */
export const APPLICABLE: Readonly<Record<Revision, readonly string[]>> = {
  '2025-11-25': [
    'server-initialize',
    'server-session-lifecycle',
    'ping',
    'tools-list',
    'server-sse-polling',
    'server-sse-multiple-streams',
    'dns-rebinding-protection',
  ],
  '2026-07-28': [
    'server-stateless',
    'tools-list',
    'server-sse-multiple-streams',
    'sep-2164-resource-not-found',
    'dns-rebinding-protection',
    'caching',
    'http-header-validation',
    'input-required-result-missing-input-response',
    'input-required-result-unsupported-methods',
    'input-required-result-ignore-extra-params',
    'input-required-result-validate-input',
  ],
};

const NO_TEST_TOOL = 'calls a diagnostic tool of the suite ("test_..."), which a product does not have';
const NO_PROMPTS = 'the server offers no prompts';
const NO_RESOURCES = 'the server offers no resources';
const NO_EXTENSION = 'an extension that the server does not announce';

/** Reasons for which the others do not apply, by the beginning of their names. */
export const NOT_APPLICABLE: Readonly<Record<string, string>> = {
  'logging-set-level': 'the server does not announce logging; it logs to stderr',
  'completion-complete': 'the server does not announce completions',
  'tools-call-': NO_TEST_TOOL,
  'json-schema-2020-12': NO_TEST_TOOL,
  'elicitation-': NO_TEST_TOOL,
  'input-required-result-': NO_TEST_TOOL,
  'http-custom-header-server-validation': 'no tool declares a parameter that travels in a header',
  'resources-': NO_RESOURCES,
  'prompts-': NO_PROMPTS,
  'sep-2640-': NO_EXTENSION,
  'tasks-': NO_EXTENSION,
};

/** Checks of applicable scenarios that need what the server does not have, and the reason. */
export const CHECKS_NOT_APPLICABLE: Readonly<Record<string, string>> = {
  'sep-2575-server-rejects-undeclared-capability': NO_TEST_TOOL,
  'sep-2575-missing-capability-http-400': NO_TEST_TOOL,
  'sep-2575-http-server-no-independent-requests-on-stream': NO_TEST_TOOL,
  'sep-2575-server-no-log-without-loglevel': NO_TEST_TOOL,
  'sep-2549-prompts-list-caching-hints': NO_PROMPTS,
  'sep-2549-resources-list-caching-hints': NO_RESOURCES,
  'sep-2549-resources-templates-list-caching-hints': NO_RESOURCES,
};

export interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** List all scenarios of the suite for a server, with their revisions. */
export async function listScenarios(): Promise<{ name: string; revisions: string[] }[]> {
  const { stdout } = await conformance(['list', '--server']);
  return [...stdout.matchAll(/^ {2}- (\S+) \[([^\]]*)\]$/gm)].map(([, name = '', revisions = '']) => ({
    name,
    revisions: revisions.split(','),
  }));
}

/** Run one scenario of the official suite against a server, and give its checks. */
export async function runScenario(url: string, scenario: string, revision: Revision): Promise<Check[]> {
  const args = ['server', '--url', url, '--scenario', scenario, '--spec-version', revision, '--verbose'];
  const { stdout, stderr } = await conformance(args);
  const start = stdout.indexOf('[\n');
  const end = stdout.lastIndexOf('\n]');
  if (start === -1 && /\[\]/.test(stdout)) return [];
  if (start === -1) throw new Error(`the suite said nothing of ${scenario}: ${stdout}${stderr}`);
  return JSON.parse(stdout.slice(start, end + 2)) as Check[];
}

/** Script of the official suite. */
export const CONFORMANCE = path.join(
  path.dirname(require.resolve('@modelcontextprotocol/conformance/package.json')),
  'dist',
  'index.js',
);

async function conformance(args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  return run(CONFORMANCE, args);
}

/** Run the official inspector in its command-line mode. */
export async function inspector(args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  const manifest = require.resolve('@modelcontextprotocol/inspector/package.json');
  const launcher = path.join(path.dirname(manifest), 'clients', 'launcher', 'build', 'index.js');
  return run(launcher, ['--cli', ...args]);
}

async function run(script: string, args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
  const child = spawn(process.execPath, [script, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const written = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    written.stderr += text;
  });
  await once(child, 'close');
  return written;
}

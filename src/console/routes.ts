import type { ComponentType } from 'preact';
import type { PageProps } from './lib/router.ts';

export interface PageModule {
  readonly default: ComponentType<PageProps>;
}

export type Load = () => Promise<PageModule>;

/** Pages by path below `/console`; `*` matches any segment. Each is loaded when first opened. */
const PAGES: readonly (readonly [pattern: string, load: Load])[] = [
  ['', () => import('./pages/overview/overview.tsx')],
  ['overview', () => import('./pages/overview/overview.tsx')],
  ['documents', () => import('./pages/documents/buckets.tsx')],
  ['buckets/*', () => import('./pages/documents/bucket.tsx')],
  ['ask', () => import('./pages/ask/ask.tsx')],
  ['search', () => import('./pages/search/search.tsx')],
  ['jobs', () => import('./pages/jobs/jobs.tsx')],
  ['jobs/*', () => import('./pages/jobs/job.tsx')],
  ['metadata', () => import('./pages/metadata/metadata.tsx')],
  ['models', () => import('./pages/models/models.tsx')],
  ['models/*', () => import('./pages/models/models.tsx')],
  ['map', () => import('./pages/map/map.tsx')],
  ['channels', () => import('./pages/channels/channels.tsx')],
  ['channels/*', () => import('./pages/channels/channels.tsx')],
  ['organizations', () => import('./pages/people/organizations.tsx')],
  ['account', () => import('./pages/account/account.tsx')],
  ['system', () => import('./pages/system/system.tsx')],
  ['insight', () => import('./pages/insight/insight.tsx')],
  ['usage', () => import('./pages/usage/usage.tsx')],
  ['keys', () => import('./pages/people/keys.tsx')],
  ['groups', () => import('./pages/people/groups.tsx')],
  ['people', () => import('./pages/people/people.tsx')],
  ['assistants', () => import('./pages/people/assistants.tsx')],
  ['sources', () => import('./pages/sources/sources.tsx')],
  ['sources/*', () => import('./pages/sources/source.tsx')],
  ['webhooks', () => import('./pages/webhooks/webhooks.tsx')],
  ['webhooks/*', () => import('./pages/webhooks/webhook.tsx')],
  ['workflows', () => import('./pages/workflows/workflows.tsx')],
  ['workflows/*', () => import('./pages/workflows/workflow.tsx')],
  ['workflows/*/runs/*', () => import('./pages/workflows/run.tsx')],
  ['documents/*', () => import('./pages/documents/document.tsx')],
];

const TABLE = PAGES.map(([pattern, load]) => ({ pattern: pattern.split('/').filter(Boolean), load }));

/** Page of an address. `load` is undefined if no page matches. */
interface FoundPage {
  readonly pattern: string;
  readonly load: Load | undefined;
  readonly parameters: readonly string[];
}

export function pageOf(segments: readonly string[]): FoundPage {
  const found = TABLE.find(
    ({ pattern }) =>
      pattern.length === segments.length && pattern.every((part, at) => part === '*' || part === segments[at]),
  );
  const parameters = segments.filter((_, at) => found?.pattern[at] === '*');
  return { pattern: found?.pattern.join('/') ?? '', load: found?.load, parameters };
}

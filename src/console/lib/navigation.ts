import type { Scope } from '../types.ts';
import type { IconName } from '../ui/icons.tsx';
import type { Message } from './i18n.ts';
import { mayUse } from './session.ts';

export interface NavigationEntry {
  readonly page: string;
  readonly label: Message;
  readonly icon: IconName;
  /** Other first segments of URLs that belong to the entry. */
  readonly also?: readonly string[];
  /** Scope without which the page is empty. */
  readonly scope?: Scope;
}

interface NavigationGroup {
  readonly title?: Message;
  readonly entries: readonly NavigationEntry[];
}

const NAVIGATION: readonly NavigationGroup[] = [
  { entries: [{ page: 'overview', label: 'Overview', icon: 'overview' }] },
  {
    title: 'Content',
    entries: [
      { page: 'documents', label: 'Documents', icon: 'documents', also: ['buckets'] },
      { page: 'search', label: 'Search', icon: 'search' },
      { page: 'ask', label: 'Ask', icon: 'ask', scope: 'search' },
      { page: 'metadata', label: 'Metadata', icon: 'metadata' },
      { page: 'map', label: 'Map', icon: 'map' },
      { page: 'jobs', label: 'Jobs', icon: 'jobs' },
    ],
  },
  {
    title: 'Connections',
    entries: [
      { page: 'channels', label: 'Channels', icon: 'channels' },
      { page: 'sources', label: 'Sources', icon: 'sources' },
      { page: 'workflows', label: 'Workflows', icon: 'workflows' },
      { page: 'webhooks', label: 'Webhooks', icon: 'webhooks', scope: 'webhooks:manage' },
    ],
  },
  {
    title: 'Service',
    entries: [
      { page: 'models', label: 'Models', icon: 'models' },
      { page: 'insight', label: 'Insight', icon: 'insight', scope: 'users:manage' },
      { page: 'usage', label: 'Usage', icon: 'usage' },
      { page: 'system', label: 'System', icon: 'system', scope: 'platform_admin' },
      {
        page: 'keys',
        label: 'Keys and people',
        icon: 'keys',
        also: ['people', 'groups', 'assistants', 'organizations'],
      },
    ],
  },
];

/** Groups of pages that the caller can use. */
export function navigation(): readonly NavigationGroup[] {
  return NAVIGATION.map((group) => ({
    ...group,
    entries: group.entries.filter(({ scope }) => scope === undefined || mayUse(scope)),
  }));
}

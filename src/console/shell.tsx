import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { callOnce } from './lib/api.ts';
import { connection } from './lib/events.ts';
import { type Message, t } from './lib/i18n.ts';
import { linkTo, usePlace } from './lib/router.ts';
import { currentCaller, mayUse, session } from './lib/session.ts';
import { useStore } from './lib/store.ts';
import type { Scope } from './types.ts';
import { Badge, Button, IconButton } from './ui/controls.tsx';
import { BrandMark, Icon, type IconName } from './ui/icons.tsx';

interface Entry {
  readonly page: string;
  readonly label: Message;
  readonly icon: IconName;
  /** Further first segments of addresses that belong to the entry. */
  readonly also?: readonly string[];
  /** Scope without which the page shows nothing. */
  readonly scope?: Scope;
}

const NAVIGATION: readonly { readonly title?: Message; readonly entries: readonly Entry[] }[] = [
  { entries: [{ page: 'overview', label: 'Overview', icon: 'overview' }] },
  {
    title: 'Content',
    entries: [
      { page: 'documents', label: 'Documents', icon: 'documents', also: ['buckets'] },
      { page: 'search', label: 'Search', icon: 'search' },
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
    ],
  },
  {
    title: 'Service',
    entries: [
      { page: 'models', label: 'Models', icon: 'models' },
      { page: 'usage', label: 'Usage', icon: 'usage' },
      { page: 'system', label: 'System', icon: 'system', scope: 'platform_admin' },
      { page: 'keys', label: 'Keys and people', icon: 'keys', also: ['people', 'organizations'] },
    ],
  },
];

/** Frame of all pages: navigation, account, and the state of the connection to the service. */
export function Shell({ children }: { children: ComponentChildren }) {
  const [isOpen, setIsOpen] = useState(false);
  const { path } = usePlace();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when the page changes
  useEffect(() => setIsOpen(false), [path]);
  return (
    <div class="shell">
      <a class="skip-link" href="#content">
        {t('Skip to the content')}
      </a>
      <header class="topbar">
        <Brand />
        <IconButton
          icon={isOpen ? 'close' : 'menu'}
          label={isOpen ? t('Close the navigation') : t('Open the navigation')}
          aria-expanded={isOpen}
          aria-controls="sidebar"
          onClick={() => setIsOpen(!isOpen)}
        />
      </header>
      <aside id="sidebar" class={isOpen ? 'sidebar open' : 'sidebar'} aria-label={t('Navigation and account')}>
        <Brand />
        <Navigation />
        <Account />
      </aside>
      <main id="content" class="content" tabIndex={-1}>
        {children}
      </main>
      <ConnectionState />
    </div>
  );
}

function Brand() {
  return (
    <a class="brand" href={linkTo()}>
      <BrandMark />
      {t('Console')}
    </a>
  );
}

function Navigation() {
  const { segments } = usePlace();
  const current = segments[0] ?? NAVIGATION[0]?.entries[0]?.page;
  return (
    <nav class="navigation" aria-label={t('Pages')}>
      {NAVIGATION.map(({ title, entries }) => (
        <div key={title ?? ''}>
          {title && <div class="navigation-title">{t(title)}</div>}
          <ul>
            {entries
              .filter(({ scope }) => scope === undefined || mayUse(scope))
              .map(({ page, label, icon, also = [] }) => (
                <li key={page}>
                  <a
                    href={linkTo(page)}
                    aria-current={current === page || also.includes(current ?? '') ? 'page' : undefined}
                  >
                    <Icon name={icon} />
                    {t(label)}
                  </a>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

function Account() {
  const { org, user, key } = currentCaller();
  const signOut = async (path: string) => {
    await callOnce(path, { method: 'DELETE' }).catch(() => undefined);
    session.set({ kind: 'signed_out', reason: null });
  };
  return (
    <div class="account">
      <div>
        <div class="account-name">
          {user !== undefined && key === undefined ? (
            <a href={linkTo('account')}>{user.email}</a>
          ) : (
            (key?.name ?? t('Signed in as operator'))
          )}
        </div>
        <div class="faint">{org.name}</div>
      </div>
      <div>
        <Button look="quiet" small icon="signOut" onClick={() => signOut('/v1/sessions/current')}>
          {t('Sign out')}
        </Button>
        <Button look="quiet" small onClick={() => signOut('/v1/sessions')}>
          {t('Sign out everywhere')}
        </Button>
      </div>
    </div>
  );
}

function ConnectionState() {
  if (useStore(connection) !== 'down') return null;
  return (
    <div class="connection" role="status">
      <Badge tone="warn" plain>
        {t('Offline')}
      </Badge>
      {t('The connection to the service is interrupted. Connecting again…')}
    </div>
  );
}

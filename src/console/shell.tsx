import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { callOnce } from './lib/api.ts';
import { connection, openEvents } from './lib/events.ts';
import { t } from './lib/i18n.ts';
import { navigation } from './lib/navigation.ts';
import { linkTo, usePlace } from './lib/router.ts';
import { currentCaller, session } from './lib/session.ts';
import { useShortcut } from './lib/shortcut.ts';
import { useStore } from './lib/store.ts';
import { Brand } from './ui/brand.tsx';
import { Badge, Button, IconButton } from './ui/controls.tsx';
import { Icon } from './ui/icons.tsx';
import { Palette } from './ui/palette/palette.tsx';
import { PaletteButton } from './ui/palette/palette-button.tsx';
import { Preferences } from './ui/preferences.tsx';

/** Frame of all pages: navigation, account, and the state of the connection to the service. */
export function Shell({ children }: { children: ComponentChildren }) {
  const [isOpen, setIsOpen] = useState(false);
  const [isFinding, setIsFinding] = useState(false);
  const { path } = usePlace();
  useShortcut('k', () => setIsFinding(true));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when the page changes
  useEffect(() => setIsOpen(false), [path]);
  return (
    <div class="shell">
      <a class="skip-link" href="#content">
        {t('Skip to the content')}
      </a>
      <header class="topbar">
        <BrandLink />
        <IconButton
          icon={isOpen ? 'close' : 'menu'}
          label={isOpen ? t('Close the navigation') : t('Open the navigation')}
          aria-expanded={isOpen}
          aria-controls="sidebar"
          onClick={() => setIsOpen(!isOpen)}
        />
      </header>
      <aside id="sidebar" class={isOpen ? 'sidebar open' : 'sidebar'} aria-label={t('Navigation and account')}>
        <BrandLink />
        <PaletteButton onOpen={() => setIsFinding(true)} />
        <Navigation />
        <Preferences />
        <Account />
      </aside>
      <main id="content" class="content" tabIndex={-1}>
        {children}
      </main>
      <ConnectionState />
      {isFinding && <Palette onClose={() => setIsFinding(false)} />}
    </div>
  );
}

function BrandLink() {
  return (
    <a class="brand" href={linkTo()}>
      <Brand />
    </a>
  );
}

function Navigation() {
  const { segments } = usePlace();
  const current = segments[0] ?? 'overview';
  return (
    <nav class="navigation" aria-label={t('Pages')}>
      {navigation().map(({ title, entries }) => (
        <div key={title ?? ''}>
          {title && <div class="navigation-title">{t(title)}</div>}
          <ul>
            {entries.map(({ page, label, icon, also = [] }) => (
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
      <Button small onClick={openEvents}>
        {t('Try now')}
      </Button>
    </div>
  );
}

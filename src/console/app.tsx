import { useEffect } from 'preact/hooks';
import { ConsentPage } from './consent.tsx';
import { InvitationPage } from './invitation.tsx';
import { closeEvents, openEvents } from './lib/events.ts';
import { t } from './lib/i18n.ts';
import { loadPage } from './lib/page-file.ts';
import { CONSENT_PATH } from './lib/pending-consent.ts';
import { useResource } from './lib/resource.ts';
import { useLinks, usePlace } from './lib/router.ts';
import { session } from './lib/session.ts';
import { useStore } from './lib/store.ts';
import { PasswordResetPage } from './password-reset.tsx';
import { pageOf } from './routes.ts';
import { Shell } from './shell.tsx';
import { SessionDialog, SignIn } from './sign-in.tsx';
import { PageHeader } from './ui/page.tsx';
import { Empty, Failure, Loading } from './ui/states.tsx';
import { Toasts } from './ui/toast.tsx';

/** The console: sign-in, or the pages in their frame. */
export function App() {
  useLinks();
  const state = useStore(session);
  const place = usePlace();
  const { kind } = state;
  const isSignedIn = kind === 'active';
  useEffect(() => {
    if (!isSignedIn) return;
    openEvents();
    return closeEvents;
  }, [isSignedIn]);
  if (kind === 'loading') return <Loading />;
  if (kind === 'signed_out') return <SignIn />;
  if (kind === 'invited') return <InvitationPage token={state.token} active={state.active} />;
  if (kind === 'resetting') return <PasswordResetPage token={state.token} />;
  if (place.path === CONSENT_PATH) return kind === 'active' ? <ConsentPage /> : <SignIn />;
  return (
    <>
      <Shell>
        <CurrentPage />
      </Shell>
      {kind === 'expired' && <SessionDialog />}
      <Toasts />
    </>
  );
}

function CurrentPage() {
  const place = usePlace();
  const { pattern, load, parameters } = pageOf(place.segments);
  const file = useResource(load === undefined ? null : `page ${pattern}`, async () => {
    if (load === undefined) throw new TypeError('there is no page to load');
    return loadPage(pattern, load);
  });
  const { refreshQuietly: retry } = file;
  const isMissing = file.data === null && file.error !== null;
  useEffect(() => {
    if (!isMissing) return;
    addEventListener('online', retry);
    return () => removeEventListener('online', retry);
  }, [isMissing, retry]);
  if (load === undefined) return <NotFound />;
  if (file.data !== null) {
    const { default: Page } = file.data;
    return <Page key={parameters.join('/')} place={place} parameters={parameters} />;
  }
  if (file.error === null) return <Loading />;
  return (
    <div class="page">
      <PageHeader title={t('This page could not be loaded')} />
      <div class="panel">
        <Failure error={file.error} onRetry={file.refresh} />
      </div>
    </div>
  );
}

function NotFound() {
  return (
    <div class="page">
      <PageHeader title={t('There is no such page')} />
      <div class="panel">
        <Empty title={t('There is no such page')}>{t('Choose a page in the navigation.')}</Empty>
      </div>
    </div>
  );
}

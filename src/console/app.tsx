import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { closeEvents, openEvents } from './lib/events.ts';
import { t } from './lib/i18n.ts';
import { type PageProps, useLinks, usePlace } from './lib/router.ts';
import { session } from './lib/session.ts';
import { useStore } from './lib/store.ts';
import { type PageModule, pageOf } from './routes.ts';
import { Shell } from './shell.tsx';
import { SessionDialog, SignIn } from './sign-in.tsx';
import { PageHeader } from './ui/page.tsx';
import { Empty, Loading } from './ui/states.tsx';
import { Toasts } from './ui/toast.tsx';

/** The console: the sign-in, or the pages in their frame. */
export function App() {
  useLinks();
  const { kind } = useStore(session);
  const isSignedIn = kind === 'active';
  useEffect(() => {
    if (!isSignedIn) return;
    openEvents();
    return closeEvents;
  }, [isSignedIn]);
  if (kind === 'loading') return <Loading />;
  if (kind === 'signed_out') return <SignIn />;
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
  const { load, parameters } = pageOf(place.segments);
  const [loaded, setLoaded] = useState<{ load: unknown; Page: ComponentType<PageProps> | null }>({
    load: null,
    Page: null,
  });
  useEffect(() => {
    let isStopped = false;
    load?.().then(
      (module: PageModule) => isStopped || setLoaded({ load, Page: module.default }),
      // The file of a page is gone after an upgrade of the service: the new page names the new files.
      () => isStopped || location.reload(),
    );
    return () => {
      isStopped = true;
    };
  }, [load]);
  if (load === undefined) return <NotFound />;
  const { Page } = loaded;
  if (Page === null || loaded.load !== load) return <Loading />;
  return <Page key={parameters.join('/')} place={place} parameters={parameters} />;
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

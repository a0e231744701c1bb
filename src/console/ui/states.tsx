import type { ComponentChildren } from 'preact';
import type { ApiError } from '../lib/api.ts';
import { t } from '../lib/i18n.ts';
import type { Resource } from '../lib/resource.ts';
import { Button, titleOf } from './controls.tsx';

const LINES = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth'];

export function Loading() {
  return (
    <div class="skeleton" role="status">
      <b class="hidden-visually">{t('Loading…')}</b>
      {LINES.map((line) => (
        <span key={line} aria-hidden="true" />
      ))}
    </div>
  );
}

export function Empty({
  title,
  children,
  action,
}: {
  title: string;
  children?: ComponentChildren;
  action?: ComponentChildren;
}) {
  return (
    <div class="state">
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
    </div>
  );
}

/** Reason why something is missing. It offers no retry to users without the right. */
export function Failure({ error, onRetry }: { error: ApiError; onRetry: () => void }) {
  const message =
    error.code === 'unreachable' ? t('This page tries again by itself as soon as the service answers.') : error.message;
  return (
    <div class="state" role="alert">
      <h2>{titleOf(error)}</h2>
      <p>{message}</p>
      {error.status !== 403 && (
        <Button icon="refresh" onClick={onRetry}>
          {t('Try again')}
        </Button>
      )}
    </div>
  );
}

/** Return the data that a page may still show: from before an outage, but not from before a refusal. */
export function shownData<T>({ data, error }: Resource<T>): T | null {
  return error === null || error.status === 0 ? data : null;
}

/** Show data once it has loaded. Before that, show the loading state or the reason why data is missing. */
export function Loaded<T>({ of, children }: { of: Resource<T>; children: (data: T) => ComponentChildren }) {
  const data = shownData(of);
  if (data !== null) return <>{children(data)}</>;
  if (of.error !== null) return <Failure error={of.error} onRetry={of.refresh} />;
  return <Loading />;
}

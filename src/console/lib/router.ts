import { useEffect } from 'preact/hooks';
import { followScrolling, leavePlace, returnToPlace } from './kept-place.ts';
import { createStore, useStore } from './store.ts';

const BASE = '/console';

export interface Place {
  /** Path below `/console`, decoded by segment: `/buckets/handbook` is `['buckets', 'handbook']`. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  /** Fragment without `#`. */
  readonly hash: string;
  readonly path: string;
}

export interface PageProps {
  readonly place: Place;
  /** Variable segments of the address, in order. */
  readonly parameters: readonly string[];
}

function readPlace(): Place {
  const segments = location.pathname.slice(BASE.length).split('/').filter(Boolean).map(decodeSegment);
  return {
    segments,
    query: new URLSearchParams(location.search),
    hash: decodeSegment(location.hash.slice(1)),
    path: location.pathname,
  };
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

const place = createStore<Place>(readPlace());

export function usePlace(): Place {
  return useStore(place);
}

/** Return the URL of a page: `linkTo('documents', id)`. */
export function linkTo(...segments: readonly string[]): string {
  return `${BASE}${segments.map((segment) => `/${encodeURIComponent(segment)}`).join('')}`;
}

/** Go to a page, or with `replace`, change the URL of the current entry. */
export function navigate(address: string, { replace = false }: { replace?: boolean } = {}): void {
  if (replace) {
    history.replaceState(history.state, '', address);
  } else {
    leavePlace();
    history.pushState(null, '', address);
  }
  const before = place.get().path;
  place.set(readPlace());
  if (before !== location.pathname) scrollTo(0, 0);
}

/** Change the query of the current URL without a new history entry. */
export function replaceQuery(values: Readonly<Record<string, string | null>>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  navigate(location.pathname + (text === '' ? '' : `?${text}`) + location.hash, { replace: true });
}

/** Follow links of the console without reloading the page. */
export function useLinks(): void {
  useEffect(() => {
    const follow = (event: MouseEvent) => {
      if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
      const link = event.target instanceof Element ? event.target.closest('a') : null;
      if (link === null || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin)
        return;
      if (link.pathname !== BASE && !link.pathname.startsWith(`${BASE}/`)) return;
      // The browser itself follows a link to a fragment of this page, and reports it as `popstate`.
      if (link.pathname === location.pathname && link.search === location.search && link.hash !== '') return;
      event.preventDefault();
      navigate(link.pathname + link.search + link.hash);
    };
    const update = () => {
      if (place.get().path !== location.pathname) scrollTo(0, 0);
      returnToPlace();
      place.set(readPlace());
    };
    const endFollowing = followScrolling();
    returnToPlace();
    addEventListener('click', follow);
    addEventListener('popstate', update);
    return () => {
      endFollowing();
      removeEventListener('click', follow);
      removeEventListener('popstate', update);
    };
  }, []);
}

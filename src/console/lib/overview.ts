import { useEffect } from 'preact/hooks';
import type { Overview } from '../types.ts';
import { call } from './api.ts';
import { type Resource, useResource } from './resource.ts';

const REFRESH_MS = 10_000;

/** Load the overview, and reload it every few seconds while the page is visible. */
export function useOverview(): Resource<Overview> {
  const overview = useResource('overview', (signal) => call<Overview>('/v1/overview', { signal }), [
    'queues',
    'providers',
    'runs',
  ]);
  const { refreshQuietly: refresh } = overview;
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && refresh(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [refresh]);
  return overview;
}

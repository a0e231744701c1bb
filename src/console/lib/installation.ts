import { callOnce } from './api.ts';
import { createStore } from './store.ts';

/** Facts about the installation that browsers get before sign-in. */
interface Installation {
  readonly name: string | null;
  /** Address of its logo. */
  readonly logo: string | null;
  readonly version: string;
  readonly upload_bytes_max: number;
  /** True if a chat model answers questions. */
  readonly answers: boolean;
}

/** Null until loaded. */
export const installation = createStore<Installation | null>(null);

/** Read the facts about the installation. If this fails, the console works without them. */
export async function readInstallation(): Promise<void> {
  installation.set(await callOnce<Installation>('/v1/installation').catch(() => null));
}

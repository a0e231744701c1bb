import { callOnce } from './api.ts';
import { createStore } from './store.ts';

/** Facts of the installation that a browser knows before a sign-in. */
interface Installation {
  readonly name: string | null;
  /** Address of its logo. */
  readonly logo: string | null;
  readonly version: string;
  readonly upload_bytes_max: number;
  /** True if a chat model answers questions. */
  readonly answers: boolean;
}

/** Null until it has been read. */
export const installation = createStore<Installation | null>(null);

/** Read the facts of the installation. The console does without them if this fails. */
export async function readInstallation(): Promise<void> {
  installation.set(await callOnce<Installation>('/v1/installation').catch(() => null));
}

import { openProjectionRegistry, type ProjectionRegistry, type RegistryContext } from './registry.ts';

/** Active maps, refreshed until `close`. */
export interface OpenProjections extends ProjectionRegistry {
  close(): Promise<void>;
}

export async function openProjections(context: RegistryContext): Promise<OpenProjections> {
  const registry = openProjectionRegistry(context);
  await registry.refresh();
  await registry.service.start(new AbortController().signal);
  return { ...registry, close: () => registry.service.stop() };
}

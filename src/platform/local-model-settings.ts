import { z } from 'zod';
import { Secret } from './secret.ts';

/** Settings of models that run on this host. */
export const localModelSettings = {
  local_models: z
    .strictObject({
      /** Bound of the threads that one model computes with; by default all processors. */
      threads: z.int().min(1).max(1024).optional(),
      /** Time without a request after which a model is unloaded; 0 keeps it. */
      idle_minutes: z.number().min(0).max(10_080).default(30),
      /** Address of the hub, or of a mirror of it. */
      hub_url: z
        .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
        .default('https://huggingface.co')
        .transform((url) => url.replace(/\/+$/, '')),
      hub_token: z
        .string()
        .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
        .transform((value) => new Secret(value))
        .optional(),
      /** Path of a library of ONNX Runtime to use in place of the one that npm installs. */
      runtime_library: z.string().min(1).optional(),
    })
    .prefault({}),
};

const LocalModelSettings = z.object(localModelSettings);
export type LocalModelSettings = ReturnType<typeof localModelsConfigOf>;

/** Convert the settings of the file to those that the program uses. */
export function localModelsConfigOf({ local_models: file }: z.output<typeof LocalModelSettings>) {
  return {
    threads: file.threads ?? null,
    idleMs: file.idle_minutes * 60_000,
    hubUrl: file.hub_url,
    hubToken: file.hub_token ?? null,
    runtimeLibrary: file.runtime_library ?? null,
  };
}

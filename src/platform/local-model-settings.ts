import { z } from 'zod';
import { numberSetting } from './number-settings.ts';
import { Secret } from './secret.ts';

/** Settings of models that run on this host. */
export const localModelSettings = {
  local_models: z
    .strictObject({
      threads: z
        .int()
        .min(1)
        .max(1024)
        .optional()
        .describe('maximum number of threads of one model (default: number of processors)'),
      idle_minutes: numberSetting(
        { min: 0, max: 10_080, default: 30 },
        'time without requests after which a model is unloaded; 0: never',
      ),
      hub_url: z
        .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
        .default('https://huggingface.co')
        .describe('address of the hub, or of a mirror of it')
        .transform((url) => url.replace(/\/+$/, '')),
      hub_token: z
        .string()
        .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
        .transform((value) => new Secret(value))
        .optional()
        .describe('token of the hub'),
      folder: z
        .string()
        .min(1)
        .optional()
        .describe('folder whose subfolders each contain a model that operators may install in the console'),
      runtime_library: z
        .string()
        .min(1)
        .optional()
        .describe('path of an ONNX Runtime library to use instead of the one that npm installs'),
    })
    .prefault({})
    .describe('models that run on this host'),
};

const LocalModelSettings = z.object(localModelSettings);
export type LocalModelSettings = ReturnType<typeof localModelsConfigOf>;

/** Convert the file's settings to the program's form. */
export function localModelsConfigOf({ local_models: file }: z.output<typeof LocalModelSettings>) {
  return {
    threads: file.threads ?? null,
    idleMs: file.idle_minutes * 60_000,
    hubUrl: file.hub_url,
    hubToken: file.hub_token ?? null,
    folder: file.folder ?? null,
    runtimeLibrary: file.runtime_library ?? null,
  };
}

import { z } from 'zod';

/** Minimum number of texts for fitting a map. */
const TEXTS_MIN = 500;

/** YAML 1.2 reads `on` and `off` as strings. */
const onOff = z
  .union([z.boolean(), z.enum(['on', 'off'])], { error: 'must be on or off' })
  .transform((value) => value === true || value === 'on');

const Auto = z.strictObject({
  enabled: onOff.prefault('on').describe('fit the maps of new models automatically'),
  texts_max: z
    .int()
    .min(0)
    .max(10_000)
    .refine((texts) => texts === 0 || texts >= TEXTS_MIN, `must be 0 (no calibration) or at least ${TEXTS_MIN}`)
    .default(2_000)
    .describe('maximum number of texts that the calibration of one model may send to providers'),
  from_buckets: z
    .boolean()
    .default(false)
    .describe('also send texts of the buckets of the installation to the providers of the models'),
});

/** Schema of `projections`. `auto` is `on`, `off`, or an object with the limits. */
export const projectionSettings = {
  projections: z
    .strictObject({
      auto: z
        .preprocess((value) => (typeof value === 'object' ? value : { enabled: value }), Auto)
        .prefault({ enabled: 'on' })
        .describe('on, off, or an object with the limits'),
    })
    .prefault({})
    .describe('the canonical latent space'),
};

const ProjectionSettings = z.object(projectionSettings);

/** Settings of automatic calibration in `service serve`. */
export interface AutoCalibrationSettings {
  readonly enabled: boolean;
  readonly textsMax: number;
  readonly fromBuckets: boolean;
}

/** Convert the file's settings to the program's form. A budget of 0 texts turns calibration off. */
export function projectionConfigOf({ projections: { auto } }: z.output<typeof ProjectionSettings>): {
  autoCalibration: AutoCalibrationSettings;
} {
  const { enabled, texts_max, from_buckets } = auto;
  return { autoCalibration: { enabled: enabled && texts_max > 0, textsMax: texts_max, fromBuckets: from_buckets } };
}

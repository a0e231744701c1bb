import { z } from 'zod';
import { Secret } from './secret.ts';

/** Trace settings in `service.yaml`. */
export const tracingSettings = {
  tracing: z
    .strictObject({
      endpoint: z
        .url({ protocol: /^https?$/ })
        .optional()
        .describe(
          'address of a collector of OpenTelemetry traces (OTLP over HTTP), such as http://collector:4318 (default: no traces)',
        ),
      headers: z
        .record(
          z.string().regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header'),
          z
            .string()
            .transform((value) => new Secret(value))
            .describe('value of the header'),
        )
        .default({})
        .describe('headers of the calls to the collector, such as its API key'),
      service_name: z.string().min(1).max(128).default('service').describe('name of this installation in traces'),
      sample_ratio: z.coerce
        .number()
        .min(0)
        .max(1)
        .default(1)
        .describe(
          'share of new traces to send, 0 to 1; for a trace that a caller began, the decision of the caller counts',
        ),
    })
    .prefault({})
    .describe('traces of requests and jobs'),
};

interface TracingFile {
  readonly tracing: {
    readonly endpoint?: string | undefined;
    readonly headers: Readonly<Record<string, Secret>>;
    readonly service_name: string;
    readonly sample_ratio: number;
  };
}

export interface TracingSettings {
  /** Address of the collector, to which `/v1/traces` is appended. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, Secret>>;
  readonly serviceName: string;
  readonly sampleRatio: number;
}

export function tracingConfigOf({ tracing }: TracingFile): { tracing: TracingSettings | null } {
  const { endpoint, headers, service_name: serviceName, sample_ratio: sampleRatio } = tracing;
  return { tracing: endpoint === undefined ? null : { endpoint, headers, serviceName, sampleRatio } };
}

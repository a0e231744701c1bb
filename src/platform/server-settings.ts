import { z } from 'zod';

/** Settings of the HTTP server in `service.yaml`. */
export const serverSettings = {
  server: z
    .strictObject({
      cors_origins: z
        .array(
          z
            .string()
            .regex(
              /^(?:\*|https?:\/\/[a-z0-9.-]+(?::\d{1,5})?|https?:\/\/\[[0-9a-f:.]+\](?::\d{1,5})?)$/,
              'must be an origin such as https://app.example.com, in lower case and without a path, or *',
            ),
        )
        .default([])
        .describe('origins whose pages may call the API from a browser; * stands for all'),
    })
    .prefault({})
    .describe('the HTTP server'),
  metrics: z
    .strictObject({
      host: z.string().min(1).default('127.0.0.1').describe('address to listen on for metrics'),
      port: z.coerce
        .number()
        .int()
        .min(0)
        .max(65535)
        .optional()
        .describe(
          'port on which every long-running process serves /metrics, /healthz and /readyz without credentials; allow access only from your own network (default: none)',
        ),
    })
    .prefault({})
    .describe('metrics of each process on a separate port'),
};

interface ServerFile {
  readonly server: { readonly cors_origins: readonly string[] };
  readonly metrics: { readonly host: string; readonly port?: number | undefined };
}

export function serverConfigOf(file: ServerFile) {
  const { host, port } = file.metrics;
  return {
    server: { corsOrigins: file.server.cors_origins },
    /** Null if metrics don't have a separate port. */
    metricsListener: port === undefined ? null : { host, port },
  };
}

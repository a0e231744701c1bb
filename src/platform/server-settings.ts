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
};

interface ServerFile {
  readonly server: { readonly cors_origins: readonly string[] };
}

export function serverConfigOf(file: ServerFile) {
  return { server: { corsOrigins: file.server.cors_origins } };
}

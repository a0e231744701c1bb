import { z } from 'zod';

/** Hosts with client metadata documents of known applications: Claude, ChatGPT and Visual Studio Code. */
const CLIENT_HOSTS = ['claude.ai', 'chatgpt.com', 'vscode.dev'];

const address = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .refine((url) => !/[?#]|:\/\/[^/]*@/.test(url), 'must have no query, no fragment and no credentials');

/** Setting `tool_server`: how people sign in to the tool server through their assistants. */
export const signInSettings = {
  tool_server: z
    .strictObject({
      urls: z
        .preprocess(
          (value) => (typeof value === 'string' ? value.split(',').map((url) => url.trim()) : value),
          z.array(address),
        )
        .default([])
        .describe(
          'addresses of the tool server as clients see it, such as https://mcp.example.com/mcp; people can then sign in to it (default: nobody can)',
        ),
      client_hosts: z
        .array(z.string().regex(/^[a-z0-9.-]+(?::\d{1,5})?$/, 'must be a host in lower case, such as claude.ai'))
        .default(CLIENT_HOSTS)
        .describe(
          'hosts whose client ID metadata documents the service may read; other applications register themselves',
        ),
    })
    .prefault({})
    .describe('sign-in to the tool server by OAuth'),
};

export function signInConfigOf({ tool_server: file }: z.output<z.ZodObject<typeof signInSettings>>) {
  return { oauth: { resources: file.urls, clientHosts: file.client_hosts } };
}

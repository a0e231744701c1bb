import http, { type IncomingHttpHeaders } from 'node:http';
import https from 'node:https';

const BODY_BYTES_MAX = 64 * 1024;

interface Probed {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/**
 * Request a page from a server on this host by http or, if the server uses TLS, by https. Don't verify the certificate,
 * since it names the public domain, not this host's address. Never send credentials with it.
 *
 * @param url `http://` and an address of this host
 * @param ms time limit of each of the two requests
 * @throws Error if the server answers neither request
 */
export async function probeHere(url: string, ms: number): Promise<Probed> {
  try {
    return await get(url, ms);
  } catch {
    return get(url.replace(/^http:/, 'https:'), ms);
  }
}

function get(url: string, ms: number): Promise<Probed> {
  return new Promise((resolve, reject) => {
    const options = { timeout: ms, agent: false, rejectUnauthorized: false };
    const request = url.startsWith('https:') ? https.get(url, options) : http.get(url, options);
    request.on('error', reject);
    request.on('timeout', () => request.destroy(new Error('no answer in time')));
    request.on('response', (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        if (body.length < BODY_BYTES_MAX) body += text;
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
  });
}

import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type JWTPayload, SignJWT } from 'jose';

export interface FakeIssuer {
  readonly url: string;
  readonly audience: string;
  /** Requested paths, in order. */
  readonly requests: string[];
  /** Kind of the next answers: correct (`up`), or a certain failure. */
  mode: 'up' | 'error' | 'html' | 'redirect' | 'oversize' | 'stall' | 'other_issuer' | 'drop';
  /** Subject whom the issuer signs in at once when a browser comes to it; null for nobody. */
  person: string | null;
  sign(claims: JWTPayload, header?: Record<string, unknown>): Promise<string>;
  /** Replace the key that signs tokens and is published. */
  rotate(): void;
  publicKeyPem(): string;
  /**
   * Sign a person in at the address to which a client has sent the browser.
   *
   * @param claims claims of the ID token that differ from the correct ones
   * @returns the address to which the browser is sent back
   */
  signIn(location: string, subject: string, claims?: JWTPayload): string;
  close(): Promise<void>;
}

/** Start an OIDC issuer over real HTTP that signs with RS256. */
export async function startFakeIssuer(): Promise<FakeIssuer> {
  const audience = 'service-api';
  const requests: string[] = [];
  let keys = makeKeys('key-1');
  let keysMade = 1;
  const codes = new Map<string, { asked: URLSearchParams; claims: JWTPayload }>();

  const server = createServer(async (request, response) => {
    requests.push(request.url ?? '');
    const json = (body: unknown) => {
      const padding = issuer.mode === 'oversize' ? ' '.repeat(2 * 1024 * 1024) : '';
      response.setHeader('content-type', 'application/json').end(padding + JSON.stringify(body));
    };
    if (issuer.mode === 'drop') return void request.socket.destroy();
    if (issuer.mode === 'error') return void response.writeHead(500).end();
    if (issuer.mode === 'html') return void response.setHeader('content-type', 'text/html').end('<p>hello</p>');
    if (issuer.mode === 'redirect') return void response.writeHead(302, { location: `${issuer.url}/elsewhere` }).end();
    if (issuer.mode === 'stall') return void response.writeHead(200).write('{');
    if (request.url === '/.well-known/openid-configuration') {
      const name = issuer.mode === 'other_issuer' ? 'http://127.0.0.1:1' : issuer.url;
      const endpoints = { authorization_endpoint: `${issuer.url}/authorize`, token_endpoint: `${issuer.url}/token` };
      return void json({ issuer: name, jwks_uri: `${issuer.url}/keys`, ...endpoints });
    }
    if (request.url === '/token') {
      const form = new URLSearchParams(await text(request));
      const grant = codes.get(form.get('code') ?? '');
      codes.delete(form.get('code') ?? '');
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      const isRight =
        grant?.asked.get('code_challenge') === challenge &&
        grant.asked.get('redirect_uri') === form.get('redirect_uri') &&
        request.headers.authorization === `Basic ${Buffer.from('console:its-secret').toString('base64')}`;
      if (!grant || !isRight) return void response.writeHead(400).end();
      const aud = grant.asked.get('client_id') as string;
      const nonce = grant.asked.get('nonce') as string;
      return void json({ id_token: await issuer.sign({ aud, nonce, ...grant.claims }) });
    }
    if (issuer.person !== null && request.url?.startsWith('/authorize?')) {
      const location = issuer.signIn(issuer.url + request.url, issuer.person);
      return void response.writeHead(303, { location }).end();
    }
    if (request.url === '/keys') return void json({ keys: [keys.jwk] });
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  const issuer: FakeIssuer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    audience,
    requests,
    mode: 'up',
    person: null,
    async sign(claims, header = {}) {
      return new SignJWT({ iss: issuer.url, aud: audience, exp: Math.floor(Date.now() / 1000) + 3600, ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: keys.kid, ...header })
        .sign(keys.privateKey);
    },
    rotate() {
      keysMade++;
      keys = makeKeys(`key-${keysMade}`);
    },
    publicKeyPem: () => keys.publicKeyPem as string,
    signIn(location, subject, claims = {}) {
      const asked = new URL(location).searchParams;
      const code = randomBytes(12).toString('hex');
      codes.set(code, { asked, claims: { sub: subject, ...claims } });
      const back = new URL(asked.get('redirect_uri') as string);
      back.searchParams.set('code', code);
      back.searchParams.set('state', asked.get('state') as string);
      back.searchParams.set('iss', issuer.url);
      return back.href;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return issuer;
}

function makeKeys(kid: string) {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' };
  return { kid, jwk, privateKey, publicKeyPem: publicKey.export({ format: 'pem', type: 'spki' }) };
}

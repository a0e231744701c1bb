import { generateKeyPairSync } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jwtVerify } from 'jose';

const EMAIL = 'embedder@p-1.iam.gserviceaccount.com';
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** Refusal of the next requests. */
interface Refusal {
  readonly status: number;
  readonly error: string;
}

/** HTTP fake of Google's token server. It verifies assertions against the key of its service account. */
export class FakeTokenServer {
  readonly #server: Server;
  readonly #keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  /** Issued tokens, in order. */
  readonly tokens: string[] = [];
  expiresInSeconds = 3600;
  refusal: Refusal | null = null;

  private constructor() {
    this.#server = createServer((request, response) => {
      const answer = async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        const { status, body } = await this.#answer(Buffer.concat(chunks).toString(), request.headers['content-type']);
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      };
      answer().catch(() => response.destroy());
    });
  }

  static async start(): Promise<FakeTokenServer> {
    const fake = new FakeTokenServer();
    await new Promise<void>((resolve) => fake.#server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/token`;
  }

  /** Return the JSON key of the service account, as one line. */
  keyFile(changes: object = {}): string {
    const pem = this.#keys.privateKey.export({ type: 'pkcs8', format: 'pem' });
    return JSON.stringify({
      ...{ type: 'service_account', project_id: 'p-1', private_key_id: 'key-1', private_key: pem },
      ...{ client_email: EMAIL, token_uri: this.url, ...changes },
    });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(form: string, type = ''): Promise<{ status: number; body: object }> {
    if (this.refusal) return { status: this.refusal.status, body: { error: this.refusal.error } };
    const fields = new URLSearchParams(form);
    if (type !== 'application/x-www-form-urlencoded' || fields.get('grant_type') !== GRANT) {
      return { status: 400, body: { error: 'unsupported_grant_type' } };
    }
    try {
      const { payload, protectedHeader } = await jwtVerify(fields.get('assertion') ?? '', this.#keys.publicKey, {
        issuer: EMAIL,
        audience: this.url,
        algorithms: ['RS256'],
        maxTokenAge: '1h',
      });
      if (payload['scope'] !== 'https://www.googleapis.com/auth/cloud-platform') throw new Error('no scope');
      if (protectedHeader.kid !== 'key-1') throw new Error('unknown key');
    } catch {
      return { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' } };
    }
    const token = `ya29.token-${this.tokens.length + 1}`;
    this.tokens.push(token);
    return { status: 200, body: { access_token: token, expires_in: this.expiresInSeconds, token_type: 'Bearer' } };
  }
}

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

const CERTIFICATES = path.join(import.meta.dirname, 'certificates');

/** HTTPS server of client metadata documents, with a certificate that this process trusts. */
export interface DocumentServer {
  /** Host with its port. */
  readonly host: string;
  /** Number of requests since it was set. */
  requests: number;
  answer: (req: IncomingMessage, res: ServerResponse) => void;
  close(): void;
}

export async function startDocumentServer(): Promise<DocumentServer> {
  const cert = readFileSync(path.join(CERTIFICATES, 'localhost.crt'));
  const key = readFileSync(path.join(CERTIFICATES, 'localhost.key'));
  const trusted = getCACertificates('default');
  setDefaultCACertificates([...trusted, cert.toString()]);
  const server = createServer({ cert, key }, (req, res) => {
    documents.requests++;
    documents.answer(req, res);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const documents: DocumentServer = {
    host: `localhost:${(server.address() as AddressInfo).port}`,
    requests: 0,
    answer: (_, res) => void res.writeHead(404).end(),
    close() {
      server.closeAllConnections();
      server.close();
      setDefaultCACertificates(trusted);
    },
  };
  return documents;
}

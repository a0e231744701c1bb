import { Gauge } from 'prom-client';
import type { Logger } from '../../platform/logger.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { SearchSettings } from '../../platform/search-settings.ts';
import { DocumentCopies } from './document-copies.ts';

/** Memory for document facts, as a share of the memory for index copies. */
const PART = 0.1;

/** Open the in-memory copies of documents, with their metric. Return null if the settings grant copies no memory. */
export function openDocumentCopies(
  { search: { residentBytes } }: { readonly search: SearchSettings },
  context: { readonly sql: Sql; readonly logger: Logger; readonly metrics: Metrics },
): DocumentCopies | null {
  if (residentBytes === 0) return null;
  const { metrics, ...own } = context;
  const copies = new DocumentCopies({ ...own, bytesMax: Math.floor(PART * residentBytes) });
  new Gauge({
    name: 'service_resident_documents',
    help: 'Documents whose facts are held in memory for searches.',
    registers: [metrics.registry],
    collect() {
      this.set(copies.documents);
    },
  });
  return copies;
}

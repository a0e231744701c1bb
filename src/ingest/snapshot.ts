/** Return a snapshot of a document at the time of queueing its job (contract 2.6). */
export function snapshotOf(document: {
  fileName: string;
  sourcePath: string | null;
  metadata: Record<string, string>;
}): Record<string, unknown> {
  return {
    file_name: document.fileName,
    source_path: document.sourcePath,
    captured_at: new Date().toISOString(),
    metadata: document.metadata,
  };
}

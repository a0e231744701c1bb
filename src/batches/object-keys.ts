/** Return the key prefix of all chunks of a batch. */
export function chunksPrefix(orgId: string, batchId: string): string {
  return `batches/${orgId}/${batchId}/`;
}

export function chunkKey(orgId: string, batchId: string, chunk: number): string {
  return `${chunksPrefix(orgId, batchId)}${String(chunk).padStart(5, '0')}`;
}

/** Parse the chunk number from a key made by `chunkKey`. Return null for any other key. */
export function chunkOfKey(key: string): number | null {
  const digits = /\/(\d{5})$/.exec(key)?.[1];
  return digits === undefined ? null : Number(digits);
}

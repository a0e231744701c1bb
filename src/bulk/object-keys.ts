/** Return the key prefix of all objects of a bulk job. */
export function bulkPrefix(orgId: string, jobId: string): string {
  return `bulk/${orgId}/${jobId}/`;
}

export function inputKey(orgId: string, jobId: string): string {
  return `${bulkPrefix(orgId, jobId)}input`;
}

export function chunksPrefix(orgId: string, jobId: string): string {
  return `${bulkPrefix(orgId, jobId)}chunks/`;
}

export function chunkKey(orgId: string, jobId: string, chunk: number): string {
  return `${chunksPrefix(orgId, jobId)}${String(chunk).padStart(5, '0')}`;
}

/** Parse the chunk number from a key made by `chunkKey`. Return null for any other key. */
export function chunkOfKey(key: string): number | null {
  const digits = /\/chunks\/(\d{5})$/.exec(key)?.[1];
  return digits === undefined ? null : Number(digits);
}

export function manifestKey(orgId: string, jobId: string): string {
  return `${bulkPrefix(orgId, jobId)}manifest`;
}

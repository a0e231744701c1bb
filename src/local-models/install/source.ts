export interface SourceFile {
  /** Path relative to the model folder. */
  readonly path: string;
  readonly sizeBytes: number;
}

/** Source of an installation: a folder, an archive or a hub. */
export interface ModelSource {
  /** Name of the source for display. */
  readonly label: string;
  /** Licence stated by the source, such as `mit`; null if none. */
  readonly licence: string | null;
  /** Commit on a hub, which always identifies the same files; null for a folder or archive. */
  readonly revision: string | null;
  /** Name by which an interrupted fetch finds its folder and resumes. Null if fetches start over. */
  readonly resumeKey: string | null;
  /** List the files. Repeated calls return the same files. */
  list(signal: AbortSignal): Promise<readonly SourceFile[]>;
  /**
   * Fetch a file to `target` and verify that it is complete. Reuse an existing part.
   *
   * @param onBytes called with the number of bytes since the last call
   */
  fetch(file: SourceFile, target: string, onBytes: (bytes: number) => void, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

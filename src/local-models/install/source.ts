export interface SourceFile {
  /** Path relative to the folder of the model. */
  readonly path: string;
  readonly sizeBytes: number;
}

/** Source of an installation: a folder, an archive or a hub. */
export interface ModelSource {
  /** Name of the source for people. */
  readonly label: string;
  /** Licence that the source states, such as `mit`; null if it states none. */
  readonly licence: string | null;
  /** Commit of a hub, which names the same files later; null for a folder or an archive. */
  readonly revision: string | null;
  /** Name by which an interrupted fetch finds its folder and continues. Null: a fetch starts over. */
  readonly resumeKey: string | null;
  /** List the files. The same call always returns the same files. */
  list(signal: AbortSignal): Promise<readonly SourceFile[]>;
  /**
   * Fetch a file to `target` and check that it is complete. Reuse an existing part.
   *
   * @param onBytes called with the number of bytes since the last call
   */
  fetch(file: SourceFile, target: string, onBytes: (bytes: number) => void, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

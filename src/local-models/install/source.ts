/** File of a source of a model. */
export interface SourceFile {
  /** Path relative to the folder of the model. */
  readonly path: string;
  readonly sizeBytes: number;
}

/** Place that a model is installed from: a folder, an archive or a hub. */
export interface ModelSource {
  /** Name of the source for people. */
  readonly label: string;
  /**
   * Name of what is fetched, if an interrupted fetch can go on: the folder of the same name is used again. Null: a fetch
   * begins anew.
   */
  readonly resumeKey: string | null;
  /** List the files; the same call always gives the same files. */
  list(signal: AbortSignal): Promise<readonly SourceFile[]>;
  /**
   * Bring a file to `target` and check that it arrived whole. A part of it that is there already is used.
   *
   * @param onBytes called with the number of bytes that arrived since the last call
   */
  fetch(file: SourceFile, target: string, onBytes: (bytes: number) => void, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

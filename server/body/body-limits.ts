/** Bounds of bodies, where a route has none of its own, and where uploads are received. */
export interface BodyLimits {
  /** Bound of a JSON body. */
  readonly bodyBytes: number;
  /** Bound of an uploaded file. */
  readonly uploadBytes: number;
  /** Directory in which files of uploads are written while their request is served. */
  readonly uploadDirectory: string;
}

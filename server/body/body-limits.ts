/** Bound of a body that holds a query, a filter, an edit or a statement: the largest valid one is far smaller. */
export const SMALL_BODY_BYTES_MAX = 256 * 1024;

/** Bounds of bodies for routes without a bound of their own, and the directory in which uploads are received. */
export interface BodyLimits {
  /** Bound of a JSON body. */
  readonly bodyBytes: number;
  /** Bound of an uploaded file. */
  readonly uploadBytes: number;
  /** Directory in which files of uploads are written while their request is served. */
  readonly uploadDirectory: string;
}

/** Limit of a body that holds a query, a filter, an edit or a statement. The largest valid one is far smaller. */
export const SMALL_BODY_BYTES_MAX = 256 * 1024;

/** Limits of bodies for routes without a limit of their own, and the directory that receives uploads. */
export interface BodyLimits {
  readonly bodyBytes: number;
  readonly uploadBytes: number;
  /** Directory for files of uploads while their request is served. */
  readonly uploadDirectory: string;
}

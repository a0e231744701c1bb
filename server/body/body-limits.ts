/** Maximum body with a query, a filter, an edit or a statement. The largest valid one is far smaller. */
export const SMALL_BODY_BYTES_MAX = 256 * 1024;

/** Body limits for routes without their own, and the directory that receives uploads. */
export interface BodyLimits {
  readonly bodyBytes: number;
  readonly uploadBytes: number;
  /** Directory for upload files while their request is being served. */
  readonly uploadDirectory: string;
}

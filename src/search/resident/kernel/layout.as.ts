/**
 * Layout of a block of 256 quantised vectors, which both kinds of estimates share: high [256 x 512 bytes], middle
 * [256 x 1024], low [256 x 512], steps f32 [256], margins f32 [256], signs [8 x 256 x 2 x 16 bytes], three arrays
 * f32 [256] of numbers for estimates by signs (see signs.as.ts), offsets f32 [256], and upper bounds f32 [8 x 256] of eight
 * queries. This is AssemblyScript, compiled with scan.as.ts.
 */

export const dimensions: usize = 1024;
export const blockRows: usize = 256;
export const highRowBytes: usize = 512;
export const middleRowBytes: usize = 1024;
export const middleStart: usize = blockRows * highRowBytes;
export const lowStart: usize = middleStart + blockRows * middleRowBytes;
export const stepsStart: usize = lowStart + blockRows * highRowBytes;
export const marginsStart: usize = stepsStart + blockRows * 4;
export const signsStart: usize = marginsStart + blockRows * 4;

/** Standard deviations of the error of an estimate that a margin covers. */
export const deviations: f32 = 5;

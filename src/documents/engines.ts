/** Engines that hold the search index of a bucket. */
export const ENGINES = ['lance', 'milvus'] as const;

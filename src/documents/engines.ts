/** Engines that can hold a bucket's search index. */
export const ENGINES = ['lance', 'milvus'] as const;

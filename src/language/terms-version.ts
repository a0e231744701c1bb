/**
 * Version of the terms of the index. A change of the terms of any text needs a new version: the index of a bucket with
 * an earlier version is then built again from its stored texts.
 */
export const INDEX_TERMS_VERSION = 2;

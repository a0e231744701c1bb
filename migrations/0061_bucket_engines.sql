-- Engine that holds the index of a bucket; null: LanceDB. The name of a table of another engine tells it, too.
ALTER TABLE buckets ADD COLUMN engine text;

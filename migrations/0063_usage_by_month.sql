-- minimum-compatible-version: 1
-- Usage by day in a partition for each month, so that old usage is removed by dropping tables. A table of before becomes
-- the first partition as it is. Processes of earlier releases write into the new tables without noticing.

-- Make the partition of a month (its first day) of a table that is partitioned by `day`, unless it exists. The partition
-- <table>_rest holds rows of months without one; those of this month move. ATTACH locks less than CREATE … PARTITION OF.
CREATE FUNCTION make_month_partition(partitioned text, month date) RETURNS void
LANGUAGE plpgsql SET datestyle = 'ISO, YMD' AS $$
DECLARE
  made text := format('%s_%s', partitioned, to_char(month, 'YYYY_MM'));
  rest text := partitioned || '_rest';
  after date := (month + interval '1 month')::date;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(partitioned || '/partitions', 0));
  IF to_regclass(made) IS NOT NULL OR month < first_month_of(partitioned) THEN RETURN; END IF;
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', made, partitioned);
  EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', rest);
  EXECUTE format('WITH moved AS (DELETE FROM %I WHERE day >= %L AND day < %L RETURNING *) INSERT INTO %I SELECT * FROM moved',
                 rest, month, after, made);
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', partitioned, made, month, after);
END $$;

-- Partitions of a table by month, with the first day after each; null: it is <table>_rest.
CREATE FUNCTION month_partitions(partitioned text) RETURNS TABLE (name text, until date)
LANGUAGE sql STABLE SET datestyle = 'ISO, YMD' AS $$
  SELECT c.relname::text, substring(pg_get_expr(c.relpartbound, c.oid) FROM $x$ TO \('([^']*)'\)$x$)::date
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass(partitioned)
$$;

-- First month that has no rows in the partition <table>_before, which is the table of before.
CREATE FUNCTION first_month_of(partitioned text) RETURNS date LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT until FROM month_partitions(partitioned) WHERE name = partitioned || '_before'), '-infinity')
$$;

DO $$
DECLARE
  partitioned text;
  old text;
  newest date;
  until date;
BEGIN
  FOREACH partitioned IN ARRAY ARRAY['usage_ledger', 'usage_by_actor'] LOOP
    old := partitioned || '_before';
    -- Writers may add rows of the next month until the table is locked.
    EXECUTE format('SELECT max(day) FROM %I', partitioned) INTO newest;
    until := (date_trunc('month', greatest(newest, (now() AT TIME ZONE 'UTC')::date)) + interval '2 months')::date;
    EXECUTE format('ALTER TABLE %I RENAME TO %I', partitioned, old);
    EXECUTE format('ALTER INDEX %I RENAME TO %I', partitioned || '_pkey', old || '_pkey');
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE (day)',
                   partitioned, old);
    EXECUTE format('ALTER TABLE %I ADD FOREIGN KEY (org_id) REFERENCES organizations (id) ON DELETE CASCADE', partitioned);
    EXECUTE format('ALTER TABLE %I ADD PRIMARY KEY (org_id, day, %s)', partitioned,
                   CASE partitioned WHEN 'usage_ledger' THEN 'axis, model, internal' ELSE 'actor' END);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', partitioned, old, until);
    EXECUTE format('CREATE TABLE %I PARTITION OF %I DEFAULT', partitioned || '_rest', partitioned);
  END LOOP;
END $$;

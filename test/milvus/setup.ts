import type { TestProject } from 'vitest/node';
import { openPostgres } from '../../src/platform/postgres.ts';
import { Secret } from '../../src/platform/secret.ts';
import { startMilvus } from '../support/milvus-server.ts';

/** Put every bucket of the tests that names no engine on Milvus. */
const ON_MILVUS = `
  CREATE FUNCTION on_milvus() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.engine := coalesce(NEW.engine, 'milvus');
    RETURN NEW;
  END $$;
  CREATE TRIGGER on_milvus BEFORE INSERT ON buckets FOR EACH ROW EXECUTE FUNCTION on_milvus()`;

/** Start one Milvus for the whole run. It begins after `global-setup.ts`, whose template of databases it changes. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { postgres, servers } = project.getProvidedContext();
  if (!servers.milvus) throw new Error('these tests need milvus-lite');
  const { template, password, ...server } = postgres;
  const target = { ...server, database: template, password: new Secret(password) };
  const sql = openPostgres(target, { poolMax: 1, applicationName: 'test-setup' });
  await sql.unsafe(ON_MILVUS);
  await sql.end({ timeout: 5 });
  const milvus = await startMilvus();
  process.env['TEST_MILVUS_URL'] = milvus.settings.url;
  return () => milvus.drop();
}

import type { Sql } from '../platform/postgres.ts';
import { type BuiltInChoice, type LocalModel, ModelSpec } from './schema.ts';

interface Row {
  readonly revision: string;
  readonly spec: unknown;
  readonly installed_at: Date;
}

/** List the installed models. They belong to the installation, not to an organization. */
export async function selectLocalModels(sql: Sql): Promise<LocalModel[]> {
  const rows = await sql<Row[]>`SELECT revision, spec, installed_at FROM local_models ORDER BY name`;
  return rows.map(toModel);
}

export async function selectLocalModel(sql: Sql, name: string): Promise<LocalModel | null> {
  const rows = await sql<Row[]>`SELECT revision, spec, installed_at FROM local_models WHERE name = ${name}`;
  return rows[0] ? toModel(rows[0]) : null;
}

/** Record a model, replacing an earlier revision with the same name. */
export async function upsertLocalModel(sql: Sql, { spec, revision }: Omit<LocalModel, 'installedAt'>): Promise<void> {
  const value = JSON.stringify(spec);
  await sql`
    INSERT INTO local_models (name, revision, spec) VALUES (${spec.name}, ${revision}, ${value}::text::jsonb)
    ON CONFLICT (name) DO UPDATE SET revision = EXCLUDED.revision, spec = EXCLUDED.spec, installed_at = now()`;
}

/** @returns false if it didn't exist */
export async function deleteLocalModel(sql: Sql, name: string): Promise<boolean> {
  return (await sql`DELETE FROM local_models WHERE name = ${name}`).count > 0;
}

/** Select the default built-in model; null before the first start. */
export async function selectBuiltIn(sql: Sql): Promise<BuiltInChoice | null> {
  const [row] = await sql<{ built_in_model: BuiltInChoice | null }[]>`SELECT built_in_model FROM installation`;
  return row?.built_in_model ?? null;
}

/** Record the default built-in model, unless another process was faster. @returns the recorded one */
export async function recordBuiltIn(sql: Sql, choice: BuiltInChoice): Promise<BuiltInChoice> {
  await sql`UPDATE installation SET built_in_model = ${choice} WHERE built_in_model IS NULL`;
  return (await selectBuiltIn(sql)) ?? choice;
}

function toModel({ revision, spec, installed_at }: Row): LocalModel {
  return { spec: ModelSpec.parse(spec), revision, installedAt: installed_at };
}

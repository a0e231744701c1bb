import { z } from 'zod';
import type { Sql } from '../../platform/postgres.ts';
import type { ProviderSettings } from '../../platform/vendor-settings.ts';
import { VendorModel, VendorParameters } from './schema.ts';

/** Vendor that an operator added to this installation. It belongs to no organization. */
export interface VendorRow {
  readonly name: string;
  readonly protocol: ProviderSettings['protocol'];
  /** API address; empty for the protocol's default. */
  readonly baseUrl: string;
  readonly sealedApiKey: Buffer | null;
  /** Encrypted JSON of `VendorSecrets`; null without any. */
  readonly sealedCredentials: Buffer | null;
  readonly parameters: VendorParameters;
  readonly models: readonly VendorModel[];
}

/** Stored vendor. If it is removed and added again, its time changes. */
export interface StoredVendor extends VendorRow {
  readonly addedAt: string;
}

export async function selectVendors(sql: Sql): Promise<StoredVendor[]> {
  const rows = await sql`
    SELECT name, protocol, base_url, sealed_api_key, sealed_credentials, parameters, models, added_at::text
    FROM vendors ORDER BY name`;
  return rows.map((row) => ({
    name: row['name'],
    protocol: row['protocol'],
    baseUrl: row['base_url'],
    sealedApiKey: row['sealed_api_key'],
    sealedCredentials: row['sealed_credentials'],
    parameters: VendorParameters.parse(row['parameters']),
    models: z.array(VendorModel).parse(row['models']),
    addedAt: row['added_at'],
  }));
}

/** Lock the table against other additions and removals, and count its rows. */
export async function countVendors(tx: Sql): Promise<number> {
  await tx`LOCK TABLE vendors IN SHARE ROW EXCLUSIVE MODE`;
  const [row] = await tx<{ count: number }[]>`SELECT count(*)::int AS count FROM vendors`;
  return row?.count ?? 0;
}

/** @returns false if the name is taken */
export async function insertVendor(tx: Sql, vendor: VendorRow & { readonly addedBy: string }): Promise<boolean> {
  const { name, protocol, baseUrl, sealedApiKey, sealedCredentials, parameters, models, addedBy } = vendor;
  const inserted = await tx`
    INSERT INTO vendors (name, protocol, base_url, sealed_api_key, sealed_credentials, parameters, models, added_by)
    VALUES (${name}, ${protocol}, ${baseUrl}, ${sealedApiKey}, ${sealedCredentials},
      ${JSON.stringify(parameters)}::text::jsonb, ${JSON.stringify(models)}::text::jsonb, ${addedBy})
    ON CONFLICT (name) DO NOTHING`;
  return inserted.count > 0;
}

/** Lock a vendor against changes, and return its non-catalog models; null if the vendor is unknown. */
export async function lockVendorModels(tx: Sql, name: string): Promise<VendorModel[] | null> {
  const [row] = await tx`SELECT models FROM vendors WHERE name = ${name} FOR UPDATE`;
  return row ? z.array(VendorModel).parse(row['models']) : null;
}

export async function setVendorModels(tx: Sql, name: string, models: readonly VendorModel[]): Promise<void> {
  await tx`UPDATE vendors SET models = ${JSON.stringify(models)}::text::jsonb WHERE name = ${name}`;
}

/** @returns false if the vendor is unknown */
export async function deleteVendor(tx: Sql, name: string): Promise<boolean> {
  return (await tx`DELETE FROM vendors WHERE name = ${name}`).count > 0;
}

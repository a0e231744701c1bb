import { recordAudit } from '../../access/audit.ts';
import type { Catalog } from '../../models/catalog.ts';
import { knownModelsOf, knownTokensMax } from '../../models/known-models.ts';
import { refuseUsedModels } from '../../models/refuse-used.ts';
import { type AppError, conflict, notFound } from '../../platform/errors.ts';
import { repeatingTask } from '../../platform/repeating-task.ts';
import { type ProviderSettings, type SimpleVendor, settingsOfVendor } from '../../platform/vendor-settings.ts';
import { findDimensions } from '../find-dimensions.ts';
import { type AddedVendor, type NewVendor, type NewVendorModel, type VendorModel, VendorParameters } from './schema.ts';
import { sealVendor } from './sealed-vendor.ts';
import { VendorRegistry, type VendorsContext } from './vendor-registry.ts';
import { countVendors, deleteVendor, insertVendor, lockVendorModels, setVendorModels } from './vendor-store.ts';

/** Refresh interval, after which a vendor added by another process is usable. */
const REFRESH_MS = 5_000;
const VENDORS_MAX = 64;
/** Maximum number of non-catalog models per vendor. */
const MODELS_MAX = 64;
/** Default token limit per text of a non-catalog model. */
const TOKENS_MAX = 512;

/** Vendors that operators added, in addition to those of the settings file. */
export interface Vendors {
  /** List the names of the added vendors. */
  names(): readonly string[];
  /** Return the protocol of an added vendor; null if the name is unknown. */
  protocolOf(name: string): ProviderSettings['protocol'] | null;
  /**
   * Test a vendor with one real call, and store it if the call succeeds.
   *
   * @throws AppError `vendor_in_settings`, `vendor_exists`, `too_many_vendors`, `model_dimension_differs` (409), and
   *   those of `findDimensions`
   */
  add(actor: string, vendor: NewVendor, signal: AbortSignal): Promise<AddedVendor>;
  /**
   * Add a model to an added vendor, after a test call. Leave a model that the catalog or the vendor already has
   * unchanged.
   *
   * @throws AppError `vendor_not_found` (404), `vendor_in_settings`, `too_many_models`, `model_dimension_differs`
   *   (409), and those of `findDimensions`
   */
  addModel(actor: string, name: string, model: NewVendorModel, signal: AbortSignal): Promise<AddedVendor>;
  /** Remove a vendor and its key. */
  remove(actor: string, name: string): Promise<void>;
  close(): Promise<void>;
}

export async function openVendors(context: VendorsContext): Promise<Vendors> {
  const { sql, keyRing, logger, catalog, configured, aliasModels } = context;
  const registry = new VendorRegistry(context);
  await registry.refresh();
  const refreshes = repeatingTask('refresh of vendors', REFRESH_MS, logger, () => registry.refresh());
  await refreshes.start(new AbortController().signal);

  function refuseConfigured(name: string): void {
    if (!Object.hasOwn(configured, name)) return;
    throw conflict(
      `${name} is a vendor of service.yaml; change it there, or choose another name`,
      'vendor_in_settings',
    );
  }

  return {
    names: () => registry.names(),
    protocolOf: (name) => registry.protocolOf(name),
    async add(actor, vendor, signal) {
      const { name, protocol, base_url: baseUrl = '', model } = vendor;
      const parameters = VendorParameters.parse(vendor);
      refuseConfigured(name);
      if (registry.protocolOf(name) !== null) throw vendorExists(name);
      const { models, added } = await testModel(catalog, vendor, vendor, signal);
      await sql.begin(async (tx) => {
        if ((await countVendors(tx)) >= VENDORS_MAX) {
          throw conflict(`there are already ${VENDORS_MAX} vendors; remove one`, 'too_many_vendors');
        }
        const sealed = sealVendor(keyRing.encryption, vendor);
        const row = { name, protocol, baseUrl, ...sealed, parameters, models, addedBy: actor };
        if (!(await insertVendor(tx, row))) throw vendorExists(name);
        const detail = { protocol, base_url: baseUrl, ...parameters, model };
        await recordAudit(tx, { orgId: null, actor, action: 'vendor.add', target: name, detail });
      });
      await registry.refresh();
      return added;
    },
    async addModel(actor, name, request, signal) {
      refuseConfigured(name);
      const vendor = registry.find(name);
      if (vendor === null) throw notFound('vendor', name);
      const { models, added } = await testModel(catalog, vendor, request, signal);
      await sql.begin(async (tx) => {
        const before = await lockVendorModels(tx, name);
        if (before === null) throw notFound('vendor', name);
        const others = before.filter(({ id }) => id !== added.model);
        if (others.length >= MODELS_MAX) {
          throw conflict(`${name} already has ${MODELS_MAX} models; use those, or another vendor`, 'too_many_models');
        }
        if (others.length === before.length) await setVendorModels(tx, name, [...others, ...models]);
        const detail = { model: request.model };
        await recordAudit(tx, { orgId: null, actor, action: 'vendor.add_model', target: name, detail });
      });
      await registry.refresh();
      return added;
    },
    async remove(actor, name) {
      refuseConfigured(name);
      const ids = catalog.list().flatMap(({ id, vendor }) => (vendor === name ? [id] : []));
      const inAlias = ids.find((id) => aliasModels.includes(id));
      if (inAlias !== undefined) {
        throw conflict(`the alias of service.yaml names ${inAlias}; change the setting alias first`, 'model_in_use');
      }
      await sql.begin(async (tx) => {
        if (registry.protocolOf(name) !== null) await refuseUsedModels(tx, ids, name);
        if (!(await deleteVendor(tx, name))) throw notFound('vendor', name);
        await recordAudit(tx, { orgId: null, actor, action: 'vendor.remove', target: name, detail: {} });
      });
      await registry.refresh();
    },
    async close() {
      await refreshes.stop();
    },
  };
}

/**
 * Call a vendor with a model.
 *
 * @returns the model as to be stored, unless it is in the catalog
 * @throws AppError `model_dimension_differs` (409), and those of `findDimensions`
 */
async function testModel(
  catalog: Catalog,
  vendor: SimpleVendor,
  { model, max_tokens: askedTokens }: NewVendorModel,
  signal: AbortSignal,
): Promise<{ models: VendorModel[]; added: AddedVendor }> {
  const { name, protocol } = vendor;
  const beganMs = performance.now();
  const dimensions = await findDimensions(settingsOfVendor(vendor), model, signal);
  const latencyMs = Math.round(performance.now() - beganMs);
  const id = `${name}/${model}`;
  const known = catalog.get(id);
  const facts = knownModelsOf(name, protocol, new Set([id])).find((each) => each.id === id);
  const expected = known?.upstreamDimensions === null ? known.nativeDimension : facts?.dimensions;
  if (expected !== undefined) requireDimensions(id, dimensions, expected);
  const maxTokens = facts?.maxTokens ?? askedTokens ?? knownTokensMax(catalog.list(), model) ?? TOKENS_MAX;
  const models = known ? [] : [{ id, dimensions, max_tokens: maxTokens }];
  return { models, added: { name, model: id, dimensions, latency_ms: latencyMs } };
}

/** @throws AppError `model_dimension_differs` (409) */
function requireDimensions(id: string, sent: number, expected: number): void {
  if (sent === expected) return;
  throw conflict(
    `the vendor sent ${sent} dimensions, but ${id} has ${expected}; choose another name for the vendor`,
    'model_dimension_differs',
  );
}

function vendorExists(name: string): AppError {
  return conflict(`a vendor named ${name} already exists; remove it first, or choose another name`, 'vendor_exists');
}

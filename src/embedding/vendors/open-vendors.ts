import { recordAudit } from '../../access/audit.ts';
import { knownModelsOf } from '../../models/known-models.ts';
import { type AppError, conflict, notFound } from '../../platform/errors.ts';
import { repeatingTask } from '../../platform/repeating-task.ts';
import { type ProviderSettings, settingsOfVendor } from '../../platform/vendor-settings.ts';
import { findDimensions } from '../find-dimensions.ts';
import { type AddedVendor, type NewVendor, VendorParameters } from './schema.ts';
import { sealVendor } from './sealed-vendor.ts';
import { VendorRegistry, type VendorsContext } from './vendor-registry.ts';
import { countVendors, deleteVendor, insertVendor } from './vendor-store.ts';

/** Interval of refreshes, after which a vendor that another process added is usable. */
const REFRESH_MS = 5_000;
const VENDORS_MAX = 64;
/** Tokens that a model outside the catalog accepts in a text, unless the request says otherwise. */
const TOKENS_MAX = 512;

/** Vendors that operators added, beside those of the settings file. */
export interface Vendors {
  /** List the names of the added vendors. */
  names(): readonly string[];
  /** Return the protocol of an added vendor; null if there is none of this name. */
  protocolOf(name: string): ProviderSettings['protocol'] | null;
  /**
   * Test a vendor by one real call, then store it. Nothing is stored if the call fails.
   *
   * @throws AppError `vendor_in_settings`, `vendor_exists`, `too_many_vendors`, `model_dimension_differs` (409), and
   *   those of `findDimensions`
   */
  add(actor: string, vendor: NewVendor, signal: AbortSignal): Promise<AddedVendor>;
  /** @throws AppError `vendor_in_settings` (409), `vendor_not_found` (404) */
  remove(actor: string, name: string): Promise<void>;
  close(): Promise<void>;
}

export async function openVendors(context: VendorsContext): Promise<Vendors> {
  const { sql, keyRing, logger, catalog, configured } = context;
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
      const beganMs = performance.now();
      const dimensions = await findDimensions(settingsOfVendor(vendor), model, signal);
      const latencyMs = Math.round(performance.now() - beganMs);
      const id = `${name}/${model}`;
      const known = catalog.get(id);
      const facts = knownModelsOf(name, protocol, new Set([id])).find((each) => each.id === id);
      const expected = known?.upstreamDimensions === null ? known.nativeDimension : facts?.dimensions;
      if (expected !== undefined) requireDimensions(id, dimensions, expected);
      const maxTokens = facts?.maxTokens ?? vendor.max_tokens ?? TOKENS_MAX;
      const models = known ? [] : [{ id, dimensions, max_tokens: maxTokens }];
      await sql.begin(async (tx) => {
        if ((await countVendors(tx)) >= VENDORS_MAX) {
          throw conflict(`there are ${VENDORS_MAX} vendors already; remove one`, 'too_many_vendors');
        }
        const sealed = sealVendor(keyRing.encryption, vendor);
        const row = { name, protocol, baseUrl, ...sealed, parameters, models, addedBy: actor };
        if (!(await insertVendor(tx, row))) throw vendorExists(name);
        const detail = { protocol, base_url: baseUrl, ...parameters, model };
        await recordAudit(tx, { orgId: null, actor, action: 'vendor.add', target: name, detail });
      });
      await registry.refresh();
      return { name, model: id, dimensions, latency_ms: latencyMs };
    },
    async remove(actor, name) {
      refuseConfigured(name);
      await sql.begin(async (tx) => {
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

/** @throws AppError `model_dimension_differs` (409) */
function requireDimensions(id: string, sent: number, expected: number): void {
  if (sent === expected) return;
  throw conflict(
    `the vendor sent ${sent} dimensions, but ${id} has ${expected}; choose another name for the vendor`,
    'model_dimension_differs',
  );
}

function vendorExists(name: string): AppError {
  return conflict(`there is a vendor ${name} already; remove it first, or choose another name`, 'vendor_exists');
}

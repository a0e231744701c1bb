import type { Catalog } from '../../models/catalog.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { KeyRing } from '../../platform/secret-key.ts';
import { type ProviderSettings, type SimpleVendor, settingsOfVendor } from '../../platform/vendor-settings.ts';
import type { Provider } from '../providers/provider.ts';
import { unsealVendor } from './sealed-vendor.ts';
import { type StoredVendor, selectVendors } from './vendor-store.ts';

export interface VendorsContext {
  readonly sql: Sql;
  readonly keyRing: Pick<KeyRing, 'encryption'>;
  readonly logger: Logger;
  readonly catalog: Catalog;
  /** Providers in use by name, to which added vendors are added. */
  readonly providers: Map<string, Provider>;
  /** Vendors of the settings file. */
  readonly configured: Readonly<Record<string, ProviderSettings>>;
  /** Ids of the models that the settings name as backends of the alias. */
  readonly aliasModels: readonly string[];
  open(name: string, settings: ProviderSettings): Promise<Provider>;
}

/** Added vendors in use by this process, kept in sync with the database. */
export class VendorRegistry {
  readonly #context: VendorsContext;
  #vendors: ReadonlyMap<string, StoredVendor> = new Map();
  #last: Promise<void> = Promise.resolve();

  constructor(context: VendorsContext) {
    this.#context = context;
  }

  names(): readonly string[] {
    return [...this.#vendors.keys()];
  }

  protocolOf(name: string): StoredVendor['protocol'] | null {
    return this.#vendors.get(name)?.protocol ?? null;
  }

  /**
   * Return an added vendor with its secrets; null if there is none.
   *
   * @throws AppError `sealed_value_unreadable` (500)
   */
  find(name: string): SimpleVendor | null {
    const stored = this.#vendors.get(name);
    return stored === undefined ? null : unsealVendor(this.#context.keyRing.encryption, stored);
  }

  /** Read the vendors. Reads are sequential, so that an older one never replaces a newer one. */
  refresh(): Promise<void> {
    this.#last = this.#last.catch(() => undefined).then(() => this.#read());
    return this.#last;
  }

  async #read(): Promise<void> {
    const { sql, catalog, configured, providers } = this.#context;
    const stored = await selectVendors(sql);
    const found = new Map(stored.map((vendor) => [vendor.name, vendor]));
    for (const name of Object.keys(configured)) found.delete(name);
    const before = this.#vendors;
    const isIn = (vendors: ReadonlyMap<string, StoredVendor>, { name, addedAt }: StoredVendor) =>
      vendors.get(name)?.addedAt === addedAt;
    const gone = [...before.values()].filter((vendor) => !isIn(found, vendor));
    const added = [...found.values()].filter((vendor) => !isIn(before, vendor));
    const isGrown = [...found.values()].some(({ name, models }) => before.get(name)?.models.length !== models.length);
    if (gone.length === 0 && !isGrown) return;
    this.#vendors = found;
    for (const { name } of gone) {
      const provider = providers.get(name);
      providers.delete(name);
      await provider?.close();
    }
    const models = [...found.values()].flatMap((vendor) =>
      vendor.models.map(({ id, dimensions, max_tokens: maxTokens }) => {
        return { id, vendor: vendor.name, dimensions, maxTokens };
      }),
    );
    const protocols = [...found.values()].map(({ name, protocol }) => [name, protocol] as const);
    catalog.setAdded(models, Object.fromEntries(protocols));
    for (const vendor of added) await this.#open(vendor);
  }

  /** Open a vendor. Skip one whose key can't be decrypted, so that the others work. */
  async #open(stored: StoredVendor): Promise<void> {
    const { keyRing, logger, providers, open } = this.#context;
    try {
      const vendor = unsealVendor(keyRing.encryption, stored);
      providers.set(stored.name, await open(stored.name, settingsOfVendor(vendor)));
    } catch (error) {
      logger.error({ err: error, provider: stored.name }, 'an added vendor cannot be used');
    }
  }
}

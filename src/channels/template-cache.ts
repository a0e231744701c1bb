import type { Template } from './senders/sender.ts';

const TEMPLATES_MAX = 500;
/** Retention of a template, after which changes take effect. */
const KEPT_MS = 60_000;

/** Cache of vendors' templates by configuration and code. Contains only usable templates. */
export class TemplateCache {
  readonly #kept = new Map<string, { readonly template: Template; readonly untilMs: number }>();

  /** Return a cached template, or load it. @throws the errors of `load` */
  async find(configId: string, code: string, load: () => Promise<Template>): Promise<Template> {
    const key = `${configId}/${code}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined && kept.untilMs > performance.now()) return kept.template;
    const template = await load();
    this.#kept.delete(key);
    this.#kept.set(key, { template, untilMs: performance.now() + KEPT_MS });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > TEMPLATES_MAX && oldest !== undefined) this.#kept.delete(oldest);
    return template;
  }
}

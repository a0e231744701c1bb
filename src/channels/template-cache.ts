import type { Template } from './senders/sender.ts';

const TEMPLATES_MAX = 500;
/** Time for which a template is kept. A change of it is used after this time. */
const KEPT_MS = 60_000;

/** Templates of vendors by configuration and code. Only usable templates are kept. */
export class TemplateCache {
  readonly #kept = new Map<string, { readonly template: Template; readonly untilMs: number }>();

  /** Return a kept template, or the one that `load` finds. @throws what `load` throws */
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

/** Words of one domain in one language: lists parted by commas, templates by lines. */
export interface DomainLists {
  /** People and bodies who act, one of them each: `tour guide`. */
  readonly who: string;
  /** Things that can be counted, one of them each: `boarding pass`. */
  readonly thing: string;
  /** What is talked about: `jet lag`. */
  readonly topic: string;
  /**
   * What is done, in full: `renew a passport`. English: the base form first. Korean: with 하다 left out (`여권을 갱신`), or the
   * stem and the 아/어 form of its verb (`표를 끊/끊어`).
   */
  readonly act: string;
  /** English: as it stands before a noun. Korean: with 하다 left out, or stem and 아/어 form (`멀/멀어`). */
  readonly adj: string;
  /** Plausible amounts: `3-14 nights`. */
  readonly unit: string;
  /** Whole sentences of this domain. */
  readonly frame: string;
}

export interface DomainWords {
  readonly name: string;
  readonly en: DomainLists;
  readonly ko: DomainLists;
}

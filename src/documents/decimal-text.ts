/**
 * Pattern of texts that order comparisons treat as numbers, for PostgreSQL and `RegExp`. The exponent is bounded, so
 * that a value can't make PostgreSQL write out its zeros.
 */
export const DECIMAL_TEXT = '^-?[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]{1,3})?$';

/**
 * Pattern of texts that order comparisons take as numbers, for PostgreSQL and for `RegExp`. The exponent is bounded, so
 * that a value cannot make PostgreSQL write out its zeros.
 */
export const DECIMAL_TEXT = '^-?[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]{1,3})?$';

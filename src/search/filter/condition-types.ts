/** Types of conditions. `filter-sql.ts` and `match-filter.ts` evaluate each of them. */
export const COMPARISONS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte'] as const;
export const MEMBERSHIPS = ['in', 'nin'] as const;
export const TEXT_MATCHES = ['contains', 'ncontains', 'starts_with', 'ends_with'] as const;
export const PRESENCES = ['exists', 'missing'] as const;
export const COMPOUNDS = ['and', 'or'] as const;

/**
 * Maximum number of configurations with one `bot_id`, across organizations, whose secrets are tried. Any others are
 * reachable only at the path of their configuration.
 */
export const CANDIDATES_MAX = 10;

/**
 * Maximum number of configurations with one `bot_id`, in all organizations, whose secrets are tried. Those beyond it
 * are reached at the path of their configuration only.
 */
export const CANDIDATES_MAX = 10;

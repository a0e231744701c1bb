import path from 'node:path';
import { z } from 'zod';
import { numberSetting } from './number-settings.ts';

/** Settings of the web console and its sessions. */
export const consoleSettings = {
  console: z
    .strictObject({
      name: z.string().trim().min(1).max(60).optional().describe('name of this installation in the console'),
      logo: z
        .string()
        .refine((file) => path.isAbsolute(file), 'must be an absolute path')
        .regex(/\.(?:svg|png)$/i, 'must be an SVG or PNG file')
        .optional()
        .describe('SVG or PNG file with a picture to show beside the name'),
      session_hours: numberSetting({ min: 0.1, max: 720, default: 12 }, 'maximum length of a session'),
      session_idle_minutes: numberSetting(
        { min: 2, max: 1_440, default: 60 },
        'time without a request after which a session ends',
      ),
      account_session_days: numberSetting(
        { min: 1, max: 90, default: 30 },
        'time without a request after which the session of a person with a password or passkey ends',
      ),
      sign_in_link_minutes: numberSetting(
        { min: 1, max: 1_440, default: 15 },
        'time for which a one-time link of the operator can be used',
      ),
    })
    .prefault({})
    .describe('the web console'),
};

export interface ConsoleSettings extends SessionSettings {
  readonly name: string | null;
  /** Absolute path of an SVG or PNG file. */
  readonly logo: string | null;
}

export interface SessionSettings {
  readonly sessionMs: number;
  readonly sessionIdleMs: number;
  readonly accountSessionIdleMs: number;
  readonly signInLinkMs: number;
}

/** Convert the file's settings to the program's form. */
export function consoleConfigOf({ console: file }: z.output<z.ZodObject<typeof consoleSettings>>): ConsoleSettings {
  return {
    name: file.name ?? null,
    logo: file.logo ?? null,
    sessionMs: file.session_hours * 3_600_000,
    accountSessionIdleMs: file.account_session_days * 86_400_000,
    sessionIdleMs: file.session_idle_minutes * 60_000,
    signInLinkMs: file.sign_in_link_minutes * 60_000,
  };
}

import { cleanRootFault } from './clean-root.ts';

/** `1`, or the file of an existing bundle of this checkout. */
const requested = process.env['TEST_INSTALL'];

/** Bundle to install, or null to make one. */
export const givenBundle = requested?.startsWith('/') ? requested : null;

/** Bundle of an earlier commit, from which an installation is upgraded, or null. */
export const olderBundle = process.env['TEST_INSTALL_OLD'] || null;

/**
 * Reason why the tests of install.sh in a clean Debian are skipped, or null. They take long and download a Debian, so they
 * run on request only.
 */
export const skipReason = requested ? cleanRootFault() : 'set TEST_INSTALL=1 to run them';
if (skipReason !== null) {
  process.stderr.write(`the tests of install.sh in a clean Debian are skipped: ${skipReason}\n`);
}

import path from 'node:path';

/** Files of the self-signed certificate of test servers (for `localhost` and 127.0.0.1) and its key. */
export const TEST_CA = path.join(import.meta.dirname, 'certificates/localhost.crt');
export const TEST_KEY = path.join(import.meta.dirname, 'certificates/localhost.key');

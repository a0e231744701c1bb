import { test } from 'vitest';
import { webdavAvailable } from '../../support/wsgidav.ts';
import { checkReader } from './conformance.ts';
import { openWebdavPlace } from './places/webdav-place.ts';

if (webdavAvailable()) checkReader('WebDAV', openWebdavPlace);
else test.skip('the reader of WebDAV needs WsgiDAV', () => {});

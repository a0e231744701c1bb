import { s3Available } from '../../support/s3.ts';
import { checkReader } from './conformance.ts';
import { openFolderPlace } from './places/folder-place.ts';
import { openS3Place } from './places/s3-place.ts';
import { openTablePlace } from './places/table-place.ts';

checkReader('folders', openFolderPlace, { denies: true });
if (s3Available()) checkReader('S3', openS3Place);
checkReader('tables of PostgreSQL', openTablePlace);

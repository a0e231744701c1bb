import { z } from 'zod';
import {
  type CalibrationRequests,
  CalibrationView,
  listCalibrations,
  requestCalibration,
} from '../../src/ingest/calibration/request-calibration.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { reportQueries } from '../limited-queries.ts';
import { defineRoute, type Route } from '../route.ts';

const Body = z.object({ model: z.string().min(1).max(200).describe('id of a model without a map') });
const List = z.object({ object: z.literal('list'), data: z.array(CalibrationView) });

/** Create the routes by which operators calibrate models and follow the progress. */
export function calibrationRoutes(requests: CalibrationRequests): Route[] {
  const common = { path: '/v1/projections/calibrations', access: 'platform_admin', errors: 'embedding' } as const;
  return [
    defineRoute({
      ...common,
      method: 'GET',
      operationId: 'listCalibrations',
      summary: 'Models whose calibration is queued, in progress or failed',
      responses: { 200: { description: 'The calibrations', schema: List } },
      async handle({ signal }) {
        return { body: { object: 'list', data: await listCalibrations(reportQueries(requests.sql, signal)) } };
      },
    }),
    defineRoute({
      ...common,
      method: 'POST',
      operationId: 'requestCalibration',
      summary: 'Calibrate a model: its vendor embeds the calibration texts, and its map is fitted and put to use',
      refusesUnknownFields: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      body: Body,
      responses: { 202: { description: 'The calibrations, with that of the model', schema: List } },
      refusals: [409, 502],
      async handle({ caller, body }) {
        await requestCalibration(requests, caller.actor, body.model);
        return { status: 202, body: { object: 'list', data: await listCalibrations(requests.sql) } };
      },
    }),
  ];
}

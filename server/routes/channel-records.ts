import { z } from 'zod';
import { DeliveryView, listDeliveries, listNotifications } from '../../src/channels/list-records.ts';
import { NotificationRecord } from '../../src/channels/schema.ts';
import { cancelNotification } from '../../src/channels/sweep-outbox.ts';
import {
  listQuestions,
  listUnanswered,
  QuestionView,
  UnansweredView,
} from '../../src/channels/unanswered-questions.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { reportQueries } from '../limited-queries.ts';
import { PageQuery, pageSchema, readPage } from '../pages.ts';
import { defineRoute, type Route } from '../route.ts';

const query = PageQuery.extend({ config: z.string().optional().describe('only of this configuration') });

/** Create the routes of an organization's channel records. */
export function channelRecordRoutes(sql: Sql): Route[] {
  const common = { method: 'GET', access: 'channels:manage', query } as const;
  return [
    defineRoute({
      ...common,
      path: '/v1/channels/deliveries',
      operationId: 'listDeliveries',
      summary: 'Verified deliveries with their outcome, newest first; the texts of replies are kept for ten minutes',
      responses: { 200: { description: 'A page', schema: pageSchema(DeliveryView) } },
      handle: async ({ caller, query, signal }) => ({
        body: await readPage(query, (page) =>
          listDeliveries(reportQueries(sql, signal), caller.orgId, { ...page, configId: query.config }),
        ),
      }),
    }),
    defineRoute({
      ...common,
      path: '/v1/channels/outbox',
      operationId: 'listNotifications',
      summary: 'Notifications that were sent, recorded or failed, newest first',
      responses: { 200: { description: 'A page', schema: pageSchema(NotificationRecord) } },
      handle: async ({ caller, query, signal }) => ({
        body: await readPage(query, (page) =>
          listNotifications(reportQueries(sql, signal), caller.orgId, { ...page, configId: query.config }),
        ),
      }),
    }),
    defineRoute({
      ...common,
      path: '/v1/channels/questions',
      operationId: 'listUnansweredQuestions',
      summary: 'Questions without an answer, newest first, if the operator keeps them (channels.keep_questions)',
      responses: { 200: { description: 'A page', schema: pageSchema(QuestionView) } },
      handle: async ({ caller, query, signal }) => ({
        body: await readPage(query, (page) =>
          listQuestions(reportQueries(sql, signal), caller.orgId, { ...page, configId: query.config }),
        ),
      }),
    }),
    defineRoute({
      ...common,
      path: '/v1/channels/unanswered',
      operationId: 'countUnansweredQuestions',
      summary: 'Number of questions without an answer for each configuration, most questions first',
      query: z.object({}),
      responses: { 200: { description: 'Numbers', schema: z.array(UnansweredView) } },
      handle: async ({ caller, signal }) => ({ body: await listUnanswered(reportQueries(sql, signal), caller.orgId) }),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/channels/outbox/:notification',
      operationId: 'cancelNotification',
      summary: 'Cancel a queued notification',
      access: 'channels:manage',
      params: z.object({ notification: z.string().min(1).max(64).describe('id of the notification') }),
      responses: { 200: { description: 'Cancelled', schema: z.object({ cancelled: z.boolean() }) } },
      refusals: [404, 409],
      async handle({ caller, params }) {
        await cancelNotification(sql, caller, params.notification);
        return { body: { cancelled: true } };
      },
    }),
  ];
}

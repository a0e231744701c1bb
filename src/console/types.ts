/** API types, inferred from the route schemas. The pages contain no service code. */
export type { Scope } from '../access/caller.ts';
export type { CallerDescription } from '../access/describe-caller.ts';
export type { Group, GroupWithMembers } from '../access/groups/schema.ts';
export type { ConsentFacts, ConsentReply } from '../access/oauth/consent.ts';
export type { GrantView } from '../access/oauth/oauth.ts';
export type { ApiKey, Organization, User } from '../access/schema.ts';
export type { AssistantView } from '../answers/assistant-schema.ts';
export type { Answer, AnswerPassage, AnswerStart } from '../answers/schema.ts';
export type { Overview } from '../appliance/overview/schema.ts';
export type { UsageByBucket } from '../appliance/overview/usage-by-bucket-store.ts';
export type { DeliveryView } from '../channels/list-records.ts';
export type { ChannelView, CreatedChannel, DryRun, NotificationRecord, SendReply } from '../channels/schema.ts';
export type { TryReply as ChannelTest } from '../channels/try-channel.ts';
export type { QuestionView, UnansweredView } from '../channels/unanswered-questions.ts';
export type { Locator } from '../documents/locator.ts';
export type { BucketContents, BucketView, CollectionView, DocumentStatus, DocumentView } from '../documents/schema.ts';
export type { RoutingView } from '../embedding/routing.ts';
export type { AddedVendor } from '../embedding/vendors/schema.ts';
export type { CalibrationView } from '../ingest/calibration/request-calibration.ts';
export type { DocumentChunks } from '../ingest/document-chunks.ts';
export type { Rehearsal as RehearsalReply } from '../ingest/rehearsal/schema.ts';
export type { ReembedReply } from '../ingest/reindex/reembed-job.ts';
export type { Asked, LogEntry, LogSummary, SearchLogLevel } from '../insight/log/schema.ts';
export type { BucketMap } from '../insight/map/bucket-map.ts';
export type { ErrorCategory, JobView } from '../jobs/schema.ts';
export type { LocalModelList, PlanView } from '../local-models/view-models.ts';
export type { ConnectionView } from '../memory/list-connections.ts';
export type { SourceFaultView, SourcePreview, SourceView } from '../memory/schema.ts';
export type { HistoryEntry } from '../metadata/read-history.ts';
export type { BulkEditReply, EditReply, ReservedKeys } from '../metadata/schema.ts';
export type { ModelView } from '../models/catalog.ts';
export type { MapDetails } from '../projection/schema.ts';
export type { ScoreMatrix } from '../projection/score-matrix.ts';
export type { BucketDetails, ListedBucket } from '../search/bucket-model.ts';
export type { SearchResponse, SearchResult } from '../search/schema.ts';
export type { UsageByKey } from '../usage/list-usage.ts';
export type { UsageSummary } from '../usage/schema.ts';
export type { CreatedWebhook, WebhookDelivery, WebhookView } from '../webhooks/schema.ts';
export type { BlockTypeView } from '../workflows/list-block-types.ts';
export type {
  BlockResult,
  ContinuingRun,
  RunReply,
  RunSummary,
  RunView,
  WorkflowDetail,
  WorkflowView,
} from '../workflows/schema.ts';

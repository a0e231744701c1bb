import { z } from 'zod';
import { isPlainName, PLAIN_NAME_RULE } from '../../platform/printable.ts';

const timestamp = z.iso.datetime();

/** Maximum number of members per request to add or remove. */
const CHANGED_MEMBERS_MAX = 1_000;

/** Name of a group. It can't contain a comma, which separates names in statements. */
export const GroupName = z
  .string()
  .normalize('NFC')
  .trim()
  .min(1)
  .max(100)
  .refine(isPlainName, PLAIN_NAME_RULE)
  .refine((name) => !name.includes(','), 'must have no comma');

export const Group = z
  .object({
    name: z.string().describe('never changes'),
    display_name: z.string(),
    claim: z.string().nullable().describe('value of the groups claim of tokens for members; null: the name'),
    external_id: z.string().nullable().describe('id at the directory that provisions the group'),
    member_count: z.int().describe('direct members'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Group' });
export type Group = z.output<typeof Group>;

/** A group with its direct members. */
export const GroupWithMembers = Group.extend({
  members: z.array(
    z.object({
      member: z.string().describe('`user:<id>`, `key:<id>` or `group:<name>`'),
      email: z.string().nullable().describe('email of the user; null for a key or a group'),
      from_claim: z.boolean().describe('true: the newest token of the user names the group'),
    }),
  ),
}).meta({ id: 'GroupWithMembers' });
export type GroupWithMembers = z.output<typeof GroupWithMembers>;

const text = (max: number) => z.string().normalize('NFC').trim().min(1).max(max).refine(isPlainName, PLAIN_NAME_RULE);
const memberList = z
  .array(z.string().normalize('NFC').trim().min(1).max(300))
  .max(CHANGED_MEMBERS_MAX)
  .describe('email or id of a user, `key:<id>` of a key without a user, or `group:<name>`');

export const NewGroup = z.object({
  name: GroupName,
  display_name: text(200).optional(),
  claim: text(256).optional(),
  members: memberList.optional(),
});
export type NewGroup = z.input<typeof NewGroup>;

/** Changes to a group. Omitted fields stay unchanged. */
export const GroupChanges = z.object({
  display_name: text(200).nullable().optional(),
  claim: text(256).nullable().optional(),
  add: memberList.optional(),
  remove: memberList.optional(),
});
export type GroupChanges = z.input<typeof GroupChanges>;

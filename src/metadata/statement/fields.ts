/**
 * Document fields that conditions can name, with the type that determines their text form. The index of document terms
 * contains all of them except times, paths and lists.
 */
export const FIELDS = {
  id: 'text',
  file_name: 'text',
  file_type: 'text',
  source_path: 'path',
  collection_id: 'text',
  searchable: 'boolean',
  status: 'text',
  created_at: 'time',
  updated_at: 'time',
  privacy_level: 'integer',
  internal_accessible: 'boolean',
  public_accessible: 'boolean',
  classification: 'text',
  review_status: 'text',
  owner_department: 'text',
  scope: 'text',
  access_users: 'list',
  access_groups: 'list',
  uploaded_by_user_id: 'text',
} as const;
export type FieldName = keyof typeof FIELDS;
export const FIELD_NAMES = Object.keys(FIELDS) as FieldName[];

export function isField(name: string): name is FieldName {
  return Object.hasOwn(FIELDS, name);
}

import { expect, it } from 'vitest';
import { Catalog, type ModelSettings } from '../../src/models/catalog.ts';
import { TaskType } from '../../src/models/task-types.ts';

const ID = 'vendor-b/embedding-002';
const own = (id: string, more: Partial<ModelSettings> = {}): ModelSettings => ({
  ...{ id, vendor: 'gateway', dimensions: 8, maxTokens: 100 },
  ...more,
});

it.each([
  [[], {}, ID],
  [[], { 'vendor-b': { [ID]: 'gemini-embedding-2' } }, ID],
  [[], { 'vendor-b': { [ID]: 'models/gemini-embedding-2-preview' } }, ID],
  [[own('google/gemini-embedding-2')], {}, 'google/gemini-embedding-2'],
  [[own('my/model')], { gateway: { 'my/model': 'google/gemini-embedding-2' } }, 'my/model'],
])('Gemini Embedding 2 gets a prompt for each task type, in a revision of its own', (settings, names, id) => {
  const model = new Catalog(settings, names).find(id);
  expect(Object.keys(model.prefixes).sort()).toEqual([...TaskType.options].sort());
  expect(model.takesTaskType).toBe(false);
  expect(model.revision).toMatch(/\+prompts$/);
});

it.each([
  [{ 'vendor-b': { [ID]: 'gemini-embedding-001' } }, ID],
  [{ 'vendor-b': { 'vendor-b/embedding-001': 'gemini-embedding-001' } }, 'vendor-b/embedding-001'],
  [{}, 'vendor-e/embeddings-v3'],
])('a model that takes a task type gets no prompt, and keeps its revision', (names, id) => {
  const model = new Catalog([], names).find(id);
  expect([model.prefixes, model.takesTaskType]).toEqual([{}, true]);
  expect(model.revision).not.toContain('prompts');
});

it('prefixes of the settings replace all prompts, so that vectors of earlier releases stay comparable', () => {
  const model = new Catalog([{ id: ID, prefixes: {} }]).find(ID);
  expect([model.prefixes, model.takesTaskType, model.revision]).toEqual([{}, false, '1']);
});

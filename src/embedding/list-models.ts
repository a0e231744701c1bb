import { type Model, type ModelView, viewOf } from '../models/catalog.ts';
import type { Backends } from './backends.ts';

export function viewModel(backends: Backends, model: Model): ModelView {
  return viewOf(model, { available: backends.isAvailable(model), calibrated: backends.isCalibrated(model) });
}

/** List the models for `GET /v1/models`. */
export function listModels(backends: Backends): ModelView[] {
  return backends.catalog.list().map((model) => viewModel(backends, model));
}

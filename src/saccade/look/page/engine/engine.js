// What answers requests: a server with models, or nothing but the traces saved in the page.
import { models as askModels, Refusal, trace as askTrace } from "saccade/engine/server";

/**
 * @typedef {{name: string, task: string, input: string, preset: string, parameters: number, attention: boolean,
 *   examples: object[]}} Model
 * @typedef {{live: boolean, models: Model[], trace: (request: object, signal: AbortSignal) => Promise<string>}} Engine
 */

/** The engine of a page that a server sent. Throws a Refusal if the list of models cannot be had. */
export async function served() {
  return { live: true, models: await askModels(), trace: askTrace };
}

/** The engine of a saved page: its traces can be seen, but nothing can be asked. */
export const saved = () => ({ live: false, models: [], trace: () => Promise.reject(new Refusal(
  "This page was saved without a model. Open the explorer with saccade serve MODEL.")) });

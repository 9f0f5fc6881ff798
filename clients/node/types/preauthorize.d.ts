import { JsonObject, SessionName, WithMeta } from "./common";

export type CacheFeature = "LOCAL_CACHE" | "REMOTE_CACHE";

export interface PreauthorizeParams extends WithMeta {
  resources: string[];
  disableFeatures?: CacheFeature[];
  provider?: string;
  /** Without it the outcome is a failure, `authentication_session_missing`. */
  session?: SessionName;
  context?: JsonObject;
  timeoutMs?: number;
}

export interface Status {
  /** 0 when no decision could be requested. */
  status: number;
  code: string;
  message: string;
  details?: string;
  helpUrl?: string;
  trace?: string;
  action: string;
}

export interface Decision {
  id: string;
  authorized: boolean;
  /** Present in every decision that is not a permit. */
  error?: Status;
  source: "local" | "backend" | "degradation";
  ageMs: number;
  expiresAt?: string;
}

export interface PreauthorizeResult {
  outcome: "response" | "failure";
  decisions: Decision[];
  status?: Status;
  unhonoredFeatures: CacheFeature[];
}

export interface InvalidateDecisionsParams extends WithMeta {
  provider?: string;
  session?: string;
  resources?: string[];
}
export interface InvalidateDecisionsResult {
  removed: number;
}

import { Json, JsonObject, WithMeta } from "./common";

/** How often calls may be made. */
export interface EndpointRate {
  /** Calls a second on average, over 0. */
  perSecond: number;
  /** Calls at one time, at least 1. */
  burst: number;
}

/** Lists and limits. A list that is left out is the maker's, an empty one is nothing. */
export interface EndpointLimits {
  resources?: string[];
  methods?: string[];
  /** In capitals. */
  httpMethods?: string[];
  /** Relative to the resource's `baseUrl`: `orders/` is what is below, `orders` that path alone. */
  paths?: string[];
  sessions?: string[];
  rate?: EndpointRate;
  concurrency?: number;
}

export interface CreateEndpointParams extends EndpointLimits, WithMeta {
  expiresInMs?: number;
  /** What it ends with: this connection, or a process, which alone may connect. */
  bindTo?: "connection" | { pid: number };
  /** A name for people: 1 to 64 printable characters. */
  label?: string;
  /** The session of all its calls, which name none: a handle, or `only`. */
  session?: string;
  /** Each call that acts for the user is put to this connection first (`approveCall`). */
  approval?: "ask";
  /** Node has no function that receives descriptors: it would be lost. */
  descriptor?: boolean;
  /** Whether it has a second socket, which speaks HTTP. */
  http?: boolean;
}
export interface CreateEndpointResult {
  /** The handle, by which it is listed and revoked. It opens nothing. */
  endpoint: string;
  /** Missing where the sidecar can make no socket file. */
  path?: string;
  expiresAt?: string;
  http?: { path: string };
}

export interface ListEndpointsParams extends WithMeta {
  limit?: number;
  cursor?: string;
}
export interface EndpointDescription {
  endpoint: string;
  label?: string;
  path?: string;
  /** The handles of the endpoints that it was made through, the first one first. */
  chain: string[];
  limits: EndpointLimits;
  createdAt: string;
  expiresAt?: string;
  connections: number;
  callsUnderWay: number;
}
export interface ListEndpointsResult {
  endpoints: EndpointDescription[];
  nextCursor?: string;
}

export interface RevokeEndpointParams extends WithMeta {
  endpoint: string;
}
export interface RevokeEndpointResult {
  /** How many endpoints have ended, descendants included. */
  revoked: number;
}

export interface NarrowParams extends EndpointLimits, WithMeta {}
export interface NarrowResult {}

export interface ExplainCallParams extends WithMeta {
  method: string;
  params?: Json;
}
export interface ExplainCallResult {
  allowed: boolean;
  steps: ExplanationStep[];
}
/** One step that a call passes, or at which it would be rejected. */
export interface ExplanationStep {
  step: string;
  verdict: "passes" | "rejects" | "open";
  summary: string;
  details?: JsonObject;
  /** With `rejects` only. */
  errorCode?: number;
}

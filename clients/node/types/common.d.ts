/** Header lines of a call. */
export type HeaderLines = Record<string, string | string[]>;

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

/** Optional params of every call. */
export interface Meta {
  /** W3C trace context, continued in every upstream request. */
  traceparent?: string;
  /** Bounds the whole call, in milliseconds. */
  timeoutMs?: number;
}

export interface WithMeta {
  meta?: Meta;
}

export type Auth = "user" | "implicit" | "clientCredentials" | "credential" | "onBehalfOf" | "none";

/**
 * The handle of a session that a login returned; or `only`, the uid's only live session, in programs whose uid is the
 * user. Null and an empty text name no user, like a missing session.
 */
export type SessionName = string | null;

/** The inbound token on whose user's behalf a call is made: it is validated, and exchanged for one of the resource. */
export interface OnBehalfOf {
  /** The access token that this program received from its own client. */
  token: string;
  /** The audience that it must be for; by default the first of the resource's `exchange.inboundAudience`. */
  audience?: string;
}

/** The requirement of a gateway or a resource. */
export interface Advice {
  type: string;
  value?: string;
  txId?: string;
  authIndexType?: string;
  authIndexValue?: string;
  realm?: string;
  /** RFC 9470. */
  acrValues?: string[];
  /** RFC 9470, in seconds. */
  maxAge?: number;
}

/** A response that the caller received elsewhere. */
export interface ForeignResponse {
  status: number;
  headers: HeaderLines;
  body?: string;
}

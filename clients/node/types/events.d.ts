import { Advice, HeaderLines } from "./common";
import { HealthStatus } from "./control";
import { AbortSignal } from "./platform";

/** The params of each event. */
export interface Events {
  "event.sessionRefreshed": { at: string; session: string; issuer: string; accessTokenExpiresAt?: string };
  "event.sessionEnded": { at: string; session: string; issuer: string };
  "event.sessionExpiring": {
    at: string;
    session: string;
    issuer: string;
    expiresAt: string;
    accessTokenExpiresAt?: string;
  };
  "event.keysRotated": { at: string; issuer: string; added: string[]; removed: string[] };
  "event.configReloaded": { at: string; changed: string[] };
  "event.healthChanged": { at: string; status: HealthStatus };
}

/** An event of an iterator; `event` is its name. */
export type PosternEvent<Name extends keyof Events = keyof Events> = {
  [One in Name]: { event: One; params: Events[One] };
}[Name];

/** The response that a delegate evaluates. */
export interface DelegatedAnswer {
  task: string;
  status: number;
  headers: Record<string, string[]>;
  body?: string;
}

export interface DelegateContext {
  /** Aborts when the delegate times out, or the connection is lost. */
  signal: AbortSignal;
}

/** A call through an endpoint of this connection. Its texts come from the child: show them as text. */
export interface CallToApprove {
  endpoint: string;
  label?: string;
  /** The handles of the endpoints that it comes through, this one first. */
  chain: string[];
  method: string;
  resource?: string;
  httpMethod?: string;
  /** Path and query below the resource's base URL, as they will be sent. */
  path?: string;
  /** The whole URL that will be sent. */
  url?: string;
  /** The resources that header fields name, such as `Destination`. */
  otherUrls?: { header: string; url: string }[];
  /** Missing where there is none; without `bytes` where their number is not known. */
  body?: { bytes?: number; contentType?: string };
  /** Parameters in the body, where they are short. */
  parameters?: Record<string, unknown>;
  session?: string;
  auth?: string;
  issuer?: string;
  provider?: string;
  /** Of methods other than `fetchResource`: the call's params, secrets masked. */
  params?: Record<string, unknown>;
}
export type Approval = "once" | "always" | "no";

export interface AdviceAnswer {
  satisfied: boolean;
  /** Of a user who was not logged in before. */
  session?: string;
}

/** Functions that answer the sidecar's requests. If one throws, the sidecar's default applies. */
export interface DelegateFunctions {
  /**
   * Has the user satisfy the advice (`authenticateWithAdvice {continuation}`), then returns whether that is done. Without
   * a session the user is not logged in: `authenticateWithAdvice {issuer, advices}` is their login; return its session.
   */
  onPolicyAdviceReceived?(
    params: { task: string; session: string | null; advices: Advice[]; continuation?: string },
    context: DelegateContext,
  ): AdviceAnswer | Promise<AdviceAnswer>;
  evaluateAuthorizationPolicy?(
    params: DelegatedAnswer,
    context: DelegateContext,
  ): { advices: Advice[] } | Promise<{ advices: Advice[] }>;
  updateRequest?(
    params: { task: string; request: { method: string; url: string; headers: HeaderLines }; txId?: string },
    context: DelegateContext,
  ): { url?: string; headers?: HeaderLines } | Promise<{ url?: string; headers?: HeaderLines }>;
  evaluateTokenRefresh?(
    params: DelegatedAnswer,
    context: DelegateContext,
  ): { refresh: boolean } | Promise<{ refresh: boolean }>;
  /** Whether a call through an endpoint with `approval` is carried out; without an answer within 60 s it is not. */
  approveCall?(
    params: CallToApprove,
    context: DelegateContext,
  ): { answer: Approval } | Promise<{ answer: Approval }>;
}

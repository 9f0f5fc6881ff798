import { WithMeta } from "./common";

export interface DiscoverParams extends WithMeta {}
/** An OpenRPC 1.3 document. */
export type DiscoverResult = any;

export interface GetInfoParams extends WithMeta {}
export interface GetInfoResult {
  name: string;
  version: string;
  protocolVersion: string;
  pid: number;
  startedAt: string;
  libraries: { curl: string; openssl: string; jansson: string; swift: string };
  features: string[];
  hardening: {
    noNewPrivileges: boolean;
    dumpable: boolean;
    coreDumps: boolean;
    writableCode: boolean;
    landlock: { abi: number; fileSystem: boolean; network: boolean; scope: boolean };
    seccomp: boolean;
    lockedMemory: { lockedBytes: number; unlockedBytes: number };
    missing: string[];
  };
}

export type HealthStatus = "ok" | "degraded" | "down";
export interface HealthParams extends WithMeta {}
export interface HealthResult {
  status: HealthStatus;
  checks: Record<string, { status: HealthStatus; detail?: string; ageMs?: number }>;
}

export interface MetricsParams extends WithMeta {}
export interface MetricsResult {
  /** Prometheus text exposition format. */
  text: string;
}

export interface ReloadConfigParams extends WithMeta {}
export interface ReloadConfigResult {
  changed: string[];
}

export type EventName =
  | "event.sessionRefreshed"
  | "event.sessionEnded"
  | "event.sessionExpiring"
  | "event.keysRotated"
  | "event.configReloaded"
  | "event.healthChanged";

export interface SubscribeParams extends WithMeta {
  events: EventName[];
}
export interface SubscribeResult {
  subscribed: EventName[];
}
export interface UnsubscribeParams extends WithMeta {
  events: EventName[];
}
export interface UnsubscribeResult {
  subscribed: EventName[];
}

export type DelegateMethod =
  | "delegate.onPolicyAdviceReceived"
  | "delegate.evaluateAuthorizationPolicy"
  | "delegate.updateRequest"
  | "delegate.evaluateTokenRefresh"
  | "delegate.approveCall";

export interface RegisterDelegateParams extends WithMeta {
  methods: DelegateMethod[];
}
export interface RegisterDelegateResult {
  registered: DelegateMethod[];
}

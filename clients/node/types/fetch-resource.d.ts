import { Advice, Auth, HeaderLines, JsonObject, OnBehalfOf, SessionName, WithMeta } from "./common";
import { RequestInit } from "./platform";

export interface Part {
  name: string;
  fileName?: string;
  mimeType?: string;
  data?: string;
  dataBase64?: string;
}

export interface FetchResourceParams extends WithMeta {
  /** Optional when only one is configured. */
  resource?: string;
  /** Appended to the resource's base URL, or an absolute URL that it allows. */
  path?: string;
  /** GET by default; any method of HTTP but CONNECT, TRACE and TRACK, in upper or lower case. */
  method?: string;
  auth?: Auth;
  /** With `auth` `user` and `implicit`; without it the call rejects with `LoginRequired`. */
  session?: SessionName;
  /** With `auth: "onBehalfOf"`, which is mostly the resource's own. */
  onBehalfOf?: OnBehalfOf;
  parameters?: JsonObject;
  parametersEncoding?: "json" | "formUrl";
  body?: string;
  bodyBase64?: string;
  multipart?: Part[];
  headers?: HeaderLines;
  timeoutMs?: number;
  followRedirects?: boolean;
  /** Only `client.stream` receives the pieces, and sets this and `streamHead` itself. */
  stream?: boolean;
  streamHead?: boolean;
  /** `client.stream` sets this itself, unless the sidecar does not know it. */
  bodyAs?: "frames";
  /** For languages that can pass descriptors (SCM_RIGHTS), as this and the next two: Node cannot. */
  bodyTo?: "fd";
  bodyFrom?: "fd";
  contentLength?: number;
  task?: string;
  continuation?: string;
}

/**
 * A body of any kind that `fetch` takes, and a `Readable`, such as the request of a server, or another iterable. It is read
 * before the request is sent, and must fit into a message: about 12 MB.
 */
export type FetchContent = NonNullable<RequestInit["body"]> | AsyncIterable<Uint8Array> | Uint8Array;

/** `fetchResource` with a body of any kind. */
export type FetchWithContent = Omit<FetchResourceParams, "body" | "bodyBase64"> & { body: FetchContent };

export interface Timing {
  totalMs: number;
  queueMs: number;
  connectMs: number;
  firstByteMs: number;
}

export interface FetchResourceResult {
  task: string;
  status: number;
  reason?: string;
  url: string;
  headers: Record<string, string[]>;
  body?: string;
  bodyBase64?: string;
  bodyBytes?: number;
  attempts: number;
  tokenRefreshed: boolean;
  advicesSatisfied: Advice[];
  timing: Timing;
  retryAfterMs?: number;
}

export interface Task {
  task: string;
  state: "running" | "suspended" | "cancelled" | "completed";
  method: string;
  url: string;
  startedAt: string;
  receivedBytes: number;
  sentBytes: number;
}

export interface TaskParams extends WithMeta {
  task: string;
}
export type GetTaskParams = TaskParams;
export type GetTaskResult = Task;
export type SuspendTaskParams = TaskParams;
export type SuspendTaskResult = Task;
export type ResumeTaskParams = TaskParams;
export type ResumeTaskResult = Task;
export type CancelTaskParams = TaskParams;
export type CancelTaskResult = Task;
export interface ListTasksParams extends WithMeta {
  state?: Task["state"];
  limit?: number;
  cursor?: string;
}
export interface ListTasksResult {
  tasks: Task[];
  nextCursor?: string;
}

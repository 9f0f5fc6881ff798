import { Auth } from "./types/common";
import { EventName, RegisterDelegateResult } from "./types/control";
import { DelegateFunctions, Events, PosternEvent } from "./types/events";
import { FetchResourceParams, FetchResourceResult, ListTasksParams, Task } from "./types/fetch-resource";
import { CallOptions, Methods } from "./types/methods";
import { ConnectionError, PosternError } from "./types/errors";
import { ListSessionsParams, Session } from "./types/sessions";

export * from "./types/common";
export * from "./types/control";
export * from "./types/fetch-resource";
export * from "./types/preauthorize";
export * from "./types/tokens";
export * from "./types/authenticate";
export * from "./types/sessions";
export * from "./types/events";
export * from "./types/errors";
export * from "./types/methods";

declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
}

export interface ClientOptions {
  /** Default: `POSTERN_SOCKET`, `$XDG_RUNTIME_DIR/postern.sock`, `/run/postern/postern.sock`. */
  socketPath?: string;
  /** For calls without one of their own; none by default. */
  timeoutMs?: number;
  /** How long a sidecar that is not there is waited for; 0: not at all. */
  connectWaitMs?: number;
  /** How long a sidecar that was there, and may be starting again, is waited for; 5,000. */
  reconnectWaitMs?: number;
  /** Calls on the connection at a time, the others wait; 100. */
  maxInFlight?: number;
  /** Calls that wait; 10,000. */
  maxQueued?: number;
  /** The largest answer; 64 MiB. */
  maxMessageBytes?: number;
  /** The largest request; 16 MiB, as the sidecar's `limits.messageBytes`. */
  maxRequestBytes?: number;
  /** How long an answer may stop in its middle; 30,000. */
  stallMs?: number;
  /** How long a delegate may take; 180,000. */
  delegateTimeoutMs?: number;
  /** As with `setDelegates`, from the first connection on. */
  delegates?: DelegateFunctions;
}

/** What a client tells beside the sidecar's events. */
export interface ClientEvents extends Events {
  /** A later connection is there, with its subscriptions; what happened in between was not told. */
  reconnected: undefined;
  disconnected: ConnectionError;
  /** The sidecar refused the delegates or a subscription on a new connection. */
  refused: PosternError;
}

export interface StreamedFetch {
  /** Name of the task: `getTask`, `suspendTask` and the like take it. */
  task: string;
  /** The body as it comes. Cancelling it ends the task. It ends with an error when the body is not whole. */
  body: ReadableStream<Uint8Array> & AsyncIterable<Uint8Array>;
  /** What comes before the body, as soon as it is there: status and headers. */
  head: Promise<Pick<FetchResourceResult, "task" | "status" | "reason" | "url" | "headers">>;
  /** The result, without a body; there when the body has ended. */
  result: Promise<FetchResourceResult>;
  /** Ends the task. */
  cancel(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface Client extends Methods {}

/** A client of the sidecar: one connection, made with the first call, and made again when it is lost. */
export class Client {
  constructor(options?: ClientOptions);
  readonly socketPath: string;

  /** A call by the method's name on the wire. */
  call(method: string, params?: object, options?: CallOptions): Promise<any>;
  /** `fetchResource` with its body as a stream, on a connection of its own. */
  stream(params: FetchResourceParams, options?: CallOptions): StreamedFetch;

  /** All sessions of this user, the oldest first: `listSessions` page by page, each when it is needed. */
  sessions(params?: ListSessionsParams, options?: CallOptions): AsyncGenerator<Session, void, undefined>;
  /** All tasks of this user, the oldest first: `listTasks` page by page, each when it is needed. */
  tasks(params?: ListTasksParams, options?: CallOptions): AsyncGenerator<Task, void, undefined>;

  /** Has these functions answer the sidecar's own requests, in place of those of before. */
  setDelegates(functions: DelegateFunctions): Promise<RegisterDelegateResult>;

  /** Subscribes, and gives the events one after another; keeps the process alive while it waits. */
  events<Name extends EventName>(
    names: Iterable<Name>,
    options?: { signal?: AbortSignal; maxBuffered?: number },
  ): AsyncGenerator<PosternEvent<Name>, void, undefined>;
  on<Name extends keyof ClientEvents>(name: Name, listener: (params: ClientEvents[Name]) => void): this;
  once<Name extends keyof ClientEvents>(name: Name, listener: (params: ClientEvents[Name]) => void): this;
  off<Name extends keyof ClientEvents>(name: Name, listener: (params: ClientEvents[Name]) => void): this;

  /** Keeps the process alive for events. Calls under way do so anyway. */
  ref(): this;
  unref(): this;
  /** Takes no more calls and ends when those under way are answered. */
  close(): Promise<void>;
  /** Ends now; what is under way rejects. */
  destroy(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface FetchOptions {
  /** The client to use; otherwise one is made with `socketPath`. */
  client?: Client;
  socketPath?: string;
  /** May be left out when only one is configured. */
  resource?: string;
  session?: string;
  auth?: Auth;
  /** Bounds each fetch; default: the resource's own. */
  timeoutMs?: number;
  /** The largest request body; 11 MiB. */
  maxBodyBytes?: number;
  /** Resolves at the response's head, with the body still to come, of any size; each on a connection of its own. */
  streaming?: boolean;
}

/** A `Response`, and what only the sidecar knows about it. */
export interface PosternResponse extends Response {
  readonly postern: Pick<
    FetchResourceResult,
    "task" | "attempts" | "tokenRefreshed" | "advicesSatisfied" | "timing" | "retryAfterMs"
  >;
}

/** A `Response` whose body is still to come; `result` has what is known at its end. */
export interface StreamingResponse extends Response {
  readonly postern: { readonly task: string; readonly result: Promise<FetchResourceResult> };
}

export interface PosternFetch<Answer extends Response = PosternResponse> {
  /** `Request` objects of every kind: what counts is what they have. */
  (input: string | URL | { readonly url: string; readonly method: string }, init?: RequestInit): Promise<Answer>;
  readonly client: Client;
}

/** A function like `fetch` that goes through the sidecar. */
export function createFetch(options: FetchOptions & { streaming: true }): PosternFetch<StreamingResponse>;
export function createFetch(options?: FetchOptions): PosternFetch;

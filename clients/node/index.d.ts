import { Auth, OnBehalfOf, SessionName } from "./types/common";
import { EventName, RegisterDelegateResult } from "./types/control";
import { DelegateFunctions, Events, PosternEvent } from "./types/events";
import { CreateEndpointParams, CreateEndpointResult } from "./types/endpoints";
import {
  FetchContent,
  FetchResourceParams,
  FetchResourceResult,
  FetchWithContent,
  ListTasksParams,
  Task,
} from "./types/fetch-resource";
import { CallOptions, Methods } from "./types/methods";
import { ConnectionError, PosternError } from "./types/errors";
import { AbortSignal, ByteStream, RequestInit, Response, URL } from "./types/platform";
import { PassMethods } from "./types/pass";
import { ProtectOptions, Protection } from "./types/protect";
import { ListSessionsParams, Session } from "./types/sessions";

export * from "./types/common";
export * from "./types/control";
export * from "./types/endpoints";
export * from "./types/fetch-resource";
export * from "./types/preauthorize";
export * from "./types/tokens";
export * from "./types/authenticate";
export * from "./types/sessions";
export * from "./types/events";
export * from "./types/errors";
export * from "./types/methods";
export * from "./types/pass";
export * from "./types/protect";

declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
}

export interface ClientOptions {
  /**
   * Default: `POSTERN_SOCKET`, `$XDG_RUNTIME_DIR/postern.sock`, `/run/postern/postern.sock`. For development also the
   * gateway's address, `http://127.0.0.1:PORT`: without events, delegates, streams and narrowing.
   */
  socketPath?: string;
  /** With an address: the file with the gateway's key. Default: `POSTERN_KEY_FILE`. */
  keyFile?: string;
  /** The timeout of calls without one of their own; none by default. */
  timeoutMs?: number;
  /** How long calls wait for a sidecar that was never connected; 0: not at all. */
  connectWaitMs?: number;
  /** How long calls wait for a sidecar that was connected before, and may be restarting; 5,000. */
  reconnectWaitMs?: number;
  /** Calls on the connection at a time, the others wait; 100. */
  maxInFlight?: number;
  /** Calls that wait; 10,000. */
  maxQueued?: number;
  /** The largest response; 64 MiB. */
  maxMessageBytes?: number;
  /** The largest request; 16 MiB, as the sidecar's `limits.messageBytes`. */
  maxRequestBytes?: number;
  /** How long an incomplete response may stall; 30,000. */
  stallMs?: number;
  /** How long a delegate may take; 180,000. */
  delegateTimeoutMs?: number;
  /** As with `setDelegates`, from the first connection on. */
  delegates?: DelegateFunctions;
}

/** Events of the client itself, in addition to the sidecar's. */
export interface ClientEvents extends Events {
  /** A later connection is established, with its subscriptions; events in between are lost. */
  reconnected: undefined;
  disconnected: ConnectionError;
  /** The sidecar rejected the delegates or a subscription on a new connection. */
  refused: PosternError;
}

export interface StreamedFetch {
  /** Name of the task, for `getTask`, `suspendTask` and similar methods. */
  task: string;
  /** The body as it arrives. Cancelling it cancels the task. It ends with an error when the body is incomplete. */
  body: ByteStream;
  /** Status and headers, as soon as they have arrived, before the body. */
  head: Promise<Pick<FetchResourceResult, "task" | "status" | "reason" | "url" | "headers">>;
  /** The result, without a body; resolves when the body has ended. */
  result: Promise<FetchResourceResult>;
  /** Cancels the task. */
  cancel(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A socket for one child. */
export interface Endpoint extends CreateEndpointResult {
  /** The variables by which the clients of Postern in a child find it. */
  readonly environment: { POSTERN_SOCKET?: string; POSTERN_HTTP_SOCKET?: string };
  /** Ends it, and all that were made through it. */
  revoke(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface Client extends Methods {}

/** A client of the sidecar: one connection, established with the first call, and again after it was lost. */
export class Client {
  constructor(options?: ClientOptions);
  readonly socketPath: string;
  /** The methods of Adobe Pass: `client.pass.createSession({ provider })`. */
  readonly pass: PassMethods;

  /** A call by the method's name on the wire. */
  call(method: string, params?: object, options?: CallOptions): Promise<any>;
  /** `fetchResource` with its body as a stream, on a connection of its own. Throws when `socketPath` is an address. */
  stream(params: FetchResourceParams | FetchWithContent, options?: CallOptions): StreamedFetch;

  /**
   * A socket for one child, which can do a part of what this client can, until it is revoked. It also ends with this
   * connection, unless `bindTo` is another: keep the client until then.
   */
  endpoint(params?: Omit<CreateEndpointParams, "descriptor">, options?: CallOptions): Promise<Endpoint>;

  /** All sessions of this user, the oldest first: `listSessions` in pages, each when it is needed. */
  sessions(params?: ListSessionsParams, options?: CallOptions): AsyncGenerator<Session, void, undefined>;
  /** All tasks of this user, first those that run: `listTasks` in pages, each when it is needed. */
  tasks(params?: ListTasksParams, options?: CallOptions): AsyncGenerator<Task, void, undefined>;

  /** Registers functions that answer the sidecar's requests, replacing earlier ones. */
  setDelegates(functions: DelegateFunctions): Promise<RegisterDelegateResult>;

  /** Subscribes, and yields the events; keeps the process alive while it waits. */
  events<Name extends EventName>(
    names: Iterable<Name>,
    options?: { signal?: AbortSignal; maxBuffered?: number },
  ): AsyncGenerator<PosternEvent<Name>, void, undefined>;
  on<Name extends keyof ClientEvents>(name: Name, listener: (params: ClientEvents[Name]) => void): this;
  once<Name extends keyof ClientEvents>(name: Name, listener: (params: ClientEvents[Name]) => void): this;
  off<Name extends keyof ClientEvents>(name: Name, listener: (params: ClientEvents[Name]) => void): this;

  /** Keeps the process alive for events. Calls in progress do so anyway. */
  ref(): this;
  unref(): this;
  /** Accepts no more calls and closes when those in progress are complete. */
  close(): Promise<void>;
  /** Closes now; calls in progress reject. */
  destroy(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A session, or what knows it at the time of each fetch. */
export type SessionSource =
  | SessionName
  | (() => SessionName | undefined | Promise<SessionName | undefined>)
  | { getStore(): SessionName | undefined };

export interface FetchOptions {
  /** The client to use; otherwise one is created with `socketPath`. */
  client?: Client;
  socketPath?: string;
  /** Optional when only one is configured. */
  resource?: string;
  /**
   * The session of each fetch that does not name one itself: a handle, or `only`. A function or an `AsyncLocalStorage` is
   * read for each fetch, and has a handle; if it has none, no user is logged in, and the fetch rejects with
   * `LoginRequired`.
   */
  session?: SessionSource;
  auth?: Auth;
  onBehalfOf?: OnBehalfOf;
  /** The timeout of each fetch; default: the resource's. */
  timeoutMs?: number;
  /** The largest request body; 11 MiB. */
  maxBodyBytes?: number;
  /** Resolves at the response's head, with the body still to come, of any size; each on a connection of its own. */
  streaming?: boolean;
}

/** A `Response`, with the sidecar's information about it. */
export interface PosternResponse extends Response {
  readonly postern: Pick<
    FetchResourceResult,
    "task" | "attempts" | "tokenRefreshed" | "advicesSatisfied" | "timing" | "retryAfterMs"
  >;
}

/** A `Response` whose body is still to come; `result` resolves at its end. */
export interface StreamingResponse extends Response {
  readonly postern: { readonly task: string; readonly result: Promise<FetchResourceResult> };
}

type SupportedMember = "method" | "headers" | "redirect" | "signal" | "duplex";

/** What a fetch takes. Other members of `RequestInit` are errors: they would have no effect. */
export type FetchInit = Pick<RequestInit, Extract<keyof RequestInit, SupportedMember>> & {
  /** The handle of this fetch's session, and not `only`. Without any, a fetch for a user rejects with `LoginRequired`. */
  session?: SessionName;
  body?: FetchContent | null;
  duplex?: "half";
};

export interface PosternFetch<Answer extends Response = PosternResponse> {
  /** `Request` objects of every implementation, identified by their members. */
  (input: string | URL | { readonly url: string; readonly method: string }, init?: FetchInit): Promise<Answer>;
  readonly client: Client;
}

/** A function like `fetch` that uses the sidecar. */
export function createFetch(options: FetchOptions & { streaming: true }): PosternFetch<StreamingResponse>;
export function createFetch(options?: FetchOptions): PosternFetch;

/** The type of `dispatcher` in the options of the platform's `fetch`, where it has one. */
type NativeDispatcher = RequestInit extends { dispatcher?: infer One } ? NonNullable<One> : unknown;

/** A dispatcher of undici, by its interface: `dispatch`, `close` and `destroy`. */
export type PosternDispatcher = NativeDispatcher & {
  dispatch(options: any, handler: any): boolean;
  /** Ends when all requests have; closes the client that it made itself. */
  close(): Promise<void>;
  /** Ends now: requests of the client that it made itself fail. */
  destroy(error?: any): Promise<void>;
  readonly client: Client;
};

/**
 * A dispatcher for `fetch(url, { dispatcher })`, and for libraries that take one: its requests are fetches of the sidecar.
 * URLs are absolute, and the resource must allow them. A failed fetch has the sidecar's error as its `cause`.
 */
export function createDispatcher(options?: FetchOptions): PosternDispatcher;

/**
 * A middleware for Express and `node:http` that lets requests through whose access token the sidecar accepts, with an
 * `Accepted` in `req.postern`. Others get the sidecar's response, with its challenge; where it cannot decide, 503.
 */
export function protect(client: Client, options: ProtectOptions): Protection;

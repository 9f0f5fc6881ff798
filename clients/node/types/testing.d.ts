import { Client } from "../index";
import { Advice, JsonObject } from "./common";
import { Reason } from "./errors";
import { Events } from "./events";
import { FetchResourceParams, FetchResourceResult } from "./fetch-resource";
import { Methods } from "./methods";
import { PassMethods } from "./pass";
import { AbortSignal } from "./platform";
import { Session } from "./sessions";

/** Every method, by the client's name of it; those of Adobe Pass as `pass.authorize`. */
export type MethodName = keyof Methods | `pass.${keyof PassMethods}`;

type CallOf<Name extends MethodName> = Name extends keyof Methods
  ? Methods[Name]
  : Name extends `pass.${infer Own extends keyof PassMethods}`
    ? PassMethods[Own]
    : never;

/** The params of a method, as the sidecar gets them. */
export type ParamsOf<Name extends MethodName> = Name extends "fetchResource"
  ? FetchResourceParams
  : NonNullable<Parameters<CallOf<Name>>[0]>;
/** The result of a method. */
export type ResultOf<Name extends MethodName> = Awaited<ReturnType<CallOf<Name>>>;

/** An error to answer with. */
export interface Failure {
  readonly reason: Reason;
  readonly data: JsonObject;
}

/** A fetch that waits for the user. */
export interface AdviceFirst {
  readonly advice: Advice;
}

type Outcome<Name extends MethodName> = ResultOf<Name> | Failure | (Name extends "fetchResource" ? AdviceFirst : never);

/** A result, an error, or a function that returns one. The function's `signal` aborts when the call is cancelled. */
export type Answer<Name extends MethodName> =
  | Outcome<Name>
  | ((params: ParamsOf<Name>, context: { signal: AbortSignal }) => Outcome<Name> | Promise<Outcome<Name>>);

/** Params that a call must have, or a function that decides. A regular expression matches a text. */
export type Match<Name extends MethodName> =
  | { [Param in keyof ParamsOf<Name>]?: ParamsOf<Name>[Param] | RegExp }
  | ((params: ParamsOf<Name>) => boolean);

/** What a fake answers to the calls that match. */
export interface Rule<Name extends MethodName> {
  /**
   * The answers of the calls that match, one after another; the last one is also that of all further calls. Throws a
   * `TypeError` for a result or an error that the sidecar never gives.
   */
  returns(...answers: [Answer<Name>, ...Answer<Name>[]]): this;
  /** The calls that match fail with this reason; `data` has more members of the error. */
  fails(reason: Reason, data?: JsonObject): this;
  /** How many calls had an answer of this rule. */
  readonly uses: number;
}

/** A user who logs in. */
export interface User {
  /** `user-1` by default. */
  subject?: string;
  /** `corp` by default; in `callbackUrl` the issuer of the login. */
  issuer?: string;
  scope?: string;
  /** More claims of the ID token. */
  claims?: JsonObject;
  acr?: string;
  expiresAt?: string;
  kind?: "user" | "implicit";
}

/** A call that a fake received. */
export type RecordedCall = { [Name in MethodName]: { method: Name; params: ParamsOf<Name> } }[MethodName];

/**
 * A sidecar for tests, in this process: it listens on a Unix socket, checks each call against the methods of the sidecar,
 * and answers as the test says. Programs, adapters and the Express glue run unchanged against it.
 */
export class FakePostern {
  private constructor();
  /** Starts a fake on a socket in a directory of its own. */
  static start(): Promise<FakePostern>;
  /** The path of its socket. */
  readonly socketPath: string;
  /** The variables by which the clients of other processes find it. */
  readonly environment: { POSTERN_SOCKET: string };
  /** A client of this fake, which `stop` closes. */
  readonly client: Client;
  /** Every call so far, the oldest first. */
  readonly calls: RecordedCall[];

  /** Says how calls of a method are answered. The newest rule that matches counts. */
  when<Name extends MethodName>(method: Name, match?: Match<Name>): Rule<Name>;
  /** The params of all calls of a method. */
  callsTo<Name extends MethodName>(method: Name): ParamsOf<Name>[];
  /** Logs a user in: the session exists from now on, for every method. */
  login(user?: User): Session;
  /** What the issuer and the user's browser do: the URL with which the browser comes back from `authorizationUrl`. */
  callbackUrl(authorizationUrl: string, user?: User & { error?: string }): string;
  /** Sends an event to all clients that have subscribed to it; returns how many. `at` is now by default. */
  emit<Name extends keyof Events>(event: Name, params: Omit<Events[Name], "at"> & { at?: string }): number;
  /** Closes all connections, as a sidecar that is restarted. Clients connect again. */
  disconnect(): void;
  /** Throws an error that lists the calls for which nothing was set up, and the answers that no sidecar gives. */
  verify(): void;
  /** Forgets rules, calls, users and problems; the socket stays. */
  reset(): void;
  /** Closes the client, the connections and the socket. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The parts of a response. `json`, `text` and `body` exclude each other. */
export interface ResponseParts {
  json?: unknown;
  text?: string;
  body?: string | Uint8Array;
  headers?: Record<string, string | string[]>;
  /** The reason phrase; by default that of the status. */
  reason?: string;
  /** By default made of the request. */
  url?: string;
  attempts?: number;
  tokenRefreshed?: boolean;
  advicesSatisfied?: Advice[];
  retryAfterMs?: number;
}

/** Makes results of `fetchResource`. */
export const FetchResult: {
  /** The result of a fetch with this status. */
  of(status: number, parts?: ResponseParts): FetchResourceResult;
};

/** An error with this reason, for `returns`. */
export function failure(reason: Reason, data?: JsonObject): Failure;

/**
 * The fetch requires this advice first. It fails with `advice_required`, or asks the client's delegate; once the advice
 * is satisfied (`authenticateWithAdvice`), it has the second answer.
 */
export function adviceRequired(advice: Advice, then: Answer<"fetchResource">): AdviceFirst;

import { Client } from "../index";
import { WithMeta } from "./common";
import { BeginAuthorizationParams, Session } from "./sessions";

/** Why a browser gets a page of the login instead of the application's. It has nothing secret. */
export interface LoginProblem {
  kind:
    | "notBegunHere"
    | "cancelled"
    | "rejected"
    | "ended"
    | "notSufficient"
    | "foreignLogout"
    | "unavailable"
    | "failed"
    | (string & {});
  status: number;
  /** For the user, as text. */
  title: string;
  text: string;
  /** Where to try again: a path. */
  link: string;
  linkText: string;
}

/** A request of `node:http`, or of a framework on top of it. */
export interface LoginRequest {
  readonly method?: string;
  readonly url?: string;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  /** After `currentSession`: the session of the browser's user, if it is live. */
  posternSession?: Session;
}

export interface LoginResponse {
  statusCode: number;
  readonly headersSent: boolean;
  getHeader(name: string): any;
  setHeader(name: string, value: any): unknown;
  end(body?: any): unknown;
}

export type LoginMiddleware = (
  req: LoginRequest,
  res: LoginResponse,
  next: (error?: any) => unknown,
) => Promise<void>;

export interface LoginOptions {
  /** Where users log in: an issuer of the sidecar's configuration. */
  issuer: string;
  /**
   * The URL under which browsers reach the application's path `/`: https, or http on loopback. `/callback` below it is
   * registered at the issuer. The header `Host` is never used.
   */
  publicUrl: string;
  /** Before the four routes: `/auth`. */
  prefix?: string;
  /** The path after a logout, and after a login without `next`, below that of `publicUrl`, which is the default. */
  home?: string;
  /** How the names of the cookies begin; `postern`. With https, `__Host-` comes before it. */
  cookie?: string;
  /** Seconds after which a user has to log in again; default: the browser keeps the cookie until it is closed. */
  maxAgeSeconds?: number;
  /** More members of each `beginAuthorization`. */
  authorization?: Omit<BeginAuthorizationParams, "issuer" | "redirectUri" | keyof WithMeta>;
  /** How long a call to the sidecar may take; 10,000. */
  timeoutMs?: number;
  /** Returns the HTML of a page, in place of the own plain one. */
  page?: (problem: LoginProblem) => string;
  /** Called with the error behind a page, and with that of a session's end that did not reach the sidecar. */
  onError?: (error: any, req: any) => void;
}

export interface Login {
  /**
   * `GET /login` (with `?next=` a path to come back to), `GET /callback`, `POST /logout` (from a page of this
   * application) and `POST /backchannel-logout`; other requests go on to `next`.
   */
  readonly routes: LoginMiddleware;
  /** Sets `req.posternSession` to the browser's session, if it is live. Without one it is undefined. */
  readonly currentSession: LoginMiddleware;
  /** Goes on with a session only: others are led to the login, and back. Scripts get 401. */
  readonly requireSession: LoginMiddleware;
  /**
   * Behind the application's own routes. `LoginRequired` leads to the login, `AdviceRequired` to a stronger login
   * (RFC 9470), and then back to the page; other errors go on to `next`.
   */
  readonly handleErrors: (
    error: any,
    req: LoginRequest,
    res: LoginResponse,
    next: (error?: any) => unknown,
  ) => Promise<void>;
}

/**
 * Logs the users of a web application in and out, with Express or `node:http`. A browser has its session's handle in a
 * cookie that no script and no other site gets; there is no state in this process. A login belongs to the browser that
 * began it.
 */
export function createLogin(client: Client, options: LoginOptions): Login;

declare global {
  namespace Express {
    interface Request {
      posternSession?: Session;
    }
  }
}

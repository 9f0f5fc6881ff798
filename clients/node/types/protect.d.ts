import { JsonObject } from "./common";

/** Who sends a request: the claims of its access token. */
export interface Accepted {
  /** The claims of the token, or what its issuer returned about it. */
  claims: JsonObject;
  tokenType: "Bearer" | "DPoP";
  /** The key or certificate that the token is bound to, and the request has proved. */
  confirmation: { jkt?: string; x5tS256?: string };
}

export interface ProtectOptions {
  /** Whose tokens are accepted: an issuer of the sidecar's configuration. */
  issuer?: string;
  /** Who tokens must be for: this API. One of `audience` and `publicUrl` is needed. */
  audience?: string;
  /**
   * The URL of the API as its clients use it, without what follows in the request's path. Needed where it is not that
   * of the `Host` header, and without `audience`, and for proofs (DPoP) of clients.
   */
  publicUrl?: string;
  /** The scopes that a token must have, all of them. */
  requiredScopes?: readonly string[];
  /** Whether tokens may, must or must not be bound to a key of the client; default: may. */
  dpop?: "optional" | "required" | "forbidden";
  /** Seconds since the user's login at most (RFC 9470). */
  maxAge?: number;
  /** The kinds of login that are sufficient (RFC 9470). */
  acrValues?: readonly string[];
  /** The URL of the API's metadata (RFC 9728), for the challenges. */
  resourceMetadata?: string;
  /** How long a verdict may take; 10,000. */
  timeoutMs?: number;
  /** Called with the reason of each 503. */
  onError?: (error: unknown) => void;
}

/** A request of `node:http`, or of a framework on top of it. */
export interface ProtectedRequest {
  readonly method?: string;
  readonly url?: string;
  readonly rawHeaders: string[];
  postern?: Accepted;
}

export interface ProtectedResponse {
  statusCode: number;
  setHeader(name: string, value: any): unknown;
  end(body?: any): unknown;
}

/** `next` is called for accepted requests only. */
export type Protection = (req: ProtectedRequest, res: ProtectedResponse, next: () => unknown) => Promise<void>;

declare global {
  namespace Express {
    interface Request {
      postern?: Accepted;
    }
  }
}

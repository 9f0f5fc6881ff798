import { Auth, JsonObject, OnBehalfOf, SessionName, WithMeta } from "./common";

/** A user's login: a handle, never a token. */
export interface Session {
  session: string;
  issuer: string;
  subject?: string;
  kind: "user" | "implicit";
  scope: string;
  createdAt: string;
  expiresAt?: string;
  accessTokenExpiresAt?: string;
  claims?: JsonObject;
  acr?: string;
  authTime?: number;
}

export type Grant =
  | {
      type: "tokens";
      accessToken?: string;
      refreshToken?: string;
      idToken?: string;
      expiresIn?: number;
      scope?: string;
      ssoToken?: string;
    }
  | { type: "sso"; ssoToken: string }
  | { type: "implicit"; profile: string }
  | { type: "refresh_token"; refreshToken: string }
  | { type: "token_exchange"; subjectToken: string; subjectTokenType?: string; actorToken?: string }
  | { type: "jwt_bearer"; assertion: string }
  | { type: "authorization_code"; code: string; codeVerifier?: string; redirectUri: string };

export interface CreateSessionParams extends WithMeta {
  issuer: string;
  grant: Grant;
}
export type CreateSessionResult = Session;

export interface BeginAuthorizationParams extends WithMeta {
  issuer: string;
  redirectUri?: string;
  scope?: string;
  prompt?: string;
  acrValues?: string[];
  maxAge?: number;
  loginHint?: string;
  resource?: string;
}
export interface BeginAuthorizationResult {
  authorizationUrl: string;
  /** For a cookie of the browser, which brings it back to the callback. */
  state: string;
  /** A value of `Set-Cookie` that does so; none where the redirect URI is not for a browser. */
  cookie?: string;
  expiresAt: string;
  redirectUri?: string;
}

export interface CompleteAuthorizationParams extends WithMeta {
  callbackUrl: string;
  /** What the browser brought in its own cookie: never what the callback's URL has. */
  state: string;
  /** The session that the browser had before, from its cookie: it is replaced. Any other text counts as none. */
  replaces?: string;
}
export type CompleteAuthorizationResult = Session;

export interface BeginDeviceAuthorizationParams extends WithMeta {
  issuer: string;
  scope?: string;
}
export interface BeginDeviceAuthorizationResult {
  handle: string;
  userCode: string;
  verificationUri: string;
  verificationUriComplete?: string;
  expiresAt: string;
  intervalMs: number;
}

export interface CompleteDeviceAuthorizationParams extends WithMeta {
  handle: string;
}
export type CompleteDeviceAuthorizationResult = Session;

export interface SessionParams extends WithMeta {
  session: string;
}
export type GetSessionParams = SessionParams;
export type GetSessionResult = Session;
export type RefreshSessionParams = SessionParams;
export type RefreshSessionResult = Session;
export type EndSessionParams = SessionParams;
export interface EndSessionResult {
  ended: boolean;
  upstream: "ended" | "failed" | "none";
}

export interface ListSessionsParams extends WithMeta {
  limit?: number;
  cursor?: string;
}
export interface ListSessionsResult {
  sessions: Session[];
  nextCursor?: string;
}

export interface GetAccessTokenParams extends WithMeta {
  resource?: string;
  issuer?: string;
  auth?: Auth;
  /** With `auth` `user` and `implicit`; without it the call rejects with `LoginRequired`. */
  session?: SessionName;
  onBehalfOf?: OnBehalfOf;
  minTtlSeconds?: number;
}
export interface GetAccessTokenResult {
  accessToken: string;
  tokenType: string;
  expiresAt: string;
  scope?: string;
}

export interface RevokeTokenParams extends WithMeta {
  session?: string;
  issuer?: string;
  token?: string;
  tokenTypeHint?: string;
}
export interface RevokeTokenResult {
  revoked: boolean;
}

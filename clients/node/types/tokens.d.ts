import { Json, JsonObject, WithMeta } from "./common";

/** The token's issuer: a configured one, or its properties. */
export interface Issuer {
  issuer?: string;
  expectedIssuer?: string;
  clientId?: string;
  jwks?: JsonObject;
  jwksUrl?: string;
}

export interface ValidateIdTokenParams extends Issuer, WithMeta {
  idToken: string;
  nonce?: string;
  authorizationCode?: string;
  accessToken?: string;
  state?: string;
  maxAge?: number;
  acrValues?: string[];
  trustedAudiences?: string[];
  algorithms?: string[];
  clockSkewSeconds?: number;
  now?: number;
  requireAzp?: boolean;
  rejectUnexpectedNonce?: boolean;
  flow?: "code" | "implicit" | "hybrid" | "refresh";
  previousIdToken?: string;
}

export interface ValidateAccessTokenParams extends Issuer, WithMeta {
  accessToken: string;
  audience: string;
  requiredScopes?: string[];
  confirmation?: { jkt?: string; x5tS256?: string };
  clockSkewSeconds?: number;
  now?: number;
}

export interface ValidateRequestParams extends Omit<Issuer, "clientId">, WithMeta {
  method: string;
  /** Absolute, as the client used it. */
  url: string;
  headers: Record<string, string | string[]>;
  /** PEM. */
  clientCertificate?: string;
  audience?: string;
  requiredScopes?: string[];
  dpop?: "optional" | "required" | "forbidden";
  maxAge?: number;
  acrValues?: string[];
  resourceMetadata?: string;
}

export interface RequestRejection {
  code: string;
  message: string;
  detail?: string;
  claim?: string;
  expected?: Json;
  actual?: Json;
}

/** `response`: what the API sends to its client, without a body. */
export type ValidateRequestResult =
  | {
      valid: true;
      claims: JsonObject;
      tokenType: "Bearer" | "DPoP";
      confirmation?: { jkt?: string; x5tS256?: string };
      cached: boolean;
      error?: undefined;
      response?: undefined;
    }
  | {
      valid: false;
      error: RequestRejection;
      response: { status: number; headers: Record<string, string> };
      claims?: undefined;
      tokenType?: undefined;
      confirmation?: undefined;
      cached?: undefined;
    };

export interface ValidateLogoutTokenParams extends Issuer, WithMeta {
  logoutToken: string;
  now?: number;
  /** Ends the sessions of the token's login, too; only with `issuer`. */
  end?: boolean;
}

export interface Rejection {
  code: string;
  message: string;
  claim?: string;
  expected?: Json;
  actual?: Json;
}

/** The result of a validation; `valid` distinguishes the two. */
export type Verdict =
  | {
      valid: true;
      claims: JsonObject;
      header: JsonObject;
      key?: { kid?: string; alg: string; thumbprint?: string };
      cached?: boolean;
      error?: undefined;
    }
  | { valid: false; error: Rejection; claims?: undefined; header?: undefined; key?: undefined; cached?: undefined };

export type ValidateIdTokenResult = Verdict;
export type ValidateAccessTokenResult = Verdict;
/** `ended`: how many sessions were ended; only with `end`, for a valid token. */
export type ValidateLogoutTokenResult =
  | {
      valid: true;
      claims: JsonObject;
      header: JsonObject;
      key?: { kid?: string; alg: string; thumbprint?: string };
      cached?: boolean;
      ended?: number;
      error?: undefined;
    }
  | {
      valid: false;
      error: Rejection;
      claims?: undefined;
      header?: undefined;
      key?: undefined;
      cached?: undefined;
      ended?: undefined;
    };

export interface IntrospectTokenParams extends WithMeta {
  token: string;
  issuer: string;
  tokenTypeHint?: string;
  audience?: string;
  requiredScopes?: string[];
}
export type IntrospectTokenResult =
  | { valid: true; claims: JsonObject; error?: undefined }
  | { valid: false; error: Rejection; claims?: undefined };

export interface VerifyJwsParams extends WithMeta {
  jws: string;
  jwks?: JsonObject;
  jwk?: JsonObject;
  algorithms?: string[];
}
export type VerifyJwsResult =
  | { valid: true; header: JsonObject; payload?: string; payloadBase64?: string; error?: undefined }
  | { valid: false; error: Rejection; header?: JsonObject; payload?: undefined; payloadBase64?: undefined };

export interface DecryptJweParams extends WithMeta {
  jwe: string;
  jwk: JsonObject;
  algorithms?: string[];
}
export type DecryptJweResult =
  | { valid: true; header: JsonObject; plaintext?: string; plaintextBase64?: string; error?: undefined }
  | { valid: false; error: Rejection; header?: JsonObject; plaintext?: undefined; plaintextBase64?: undefined };

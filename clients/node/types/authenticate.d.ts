import { Advice, ForeignResponse, HeaderLines, Json, JsonObject, SessionName, WithMeta } from "./common";

export interface ParseAdviceParams extends WithMeta {
  status: number;
  headers: HeaderLines;
  body?: string;
}
export interface ParseAdviceResult {
  advices: Advice[];
  /** Only when there are any. */
  source?: "header" | "redirect" | "body";
}

/** The access manager's question: its own JSON, unchanged. Send it back with its inputs filled in. */
export type Callback = any;

/** Answers given in advance: by type, id or input name. */
export type Answers = JsonObject;

export interface AuthenticateParams extends WithMeta {
  issuer?: string;
  service?: string;
  tree?: string;
  answers?: Answers;
  noSession?: boolean;
  forceAuth?: boolean;
  continuation?: string;
  callbacks?: Callback[];
}

export interface AuthenticateWithAdviceParams extends WithMeta {
  /** Needed at the beginning, or `issuer`. */
  session?: SessionName;
  /** In place of `session`, for a user who is not logged in: where the advice is a login. */
  issuer?: string;
  advice?: Advice;
  advices?: Advice[];
  response?: ForeignResponse;
  answers?: Answers;
  continuation?: string;
  callbacks?: Callback[];
}

/** The state of a journey; `state` distinguishes the three. */
export type Journey =
  | {
      state: "callbacks";
      continuation: string;
      callbacks: Callback[];
      stage?: string;
      header?: string;
      description?: string;
      expiresAt: string;
    }
  | {
      state: "completed";
      /** The continuation of a suspended fetch: pass it to `fetchResource`. */
      continuation?: string;
      txId?: string;
      session?: string;
      sessionUpgraded?: boolean;
    }
  | { state: "failed"; error: { code: number; message: string; detail?: Json } };

export type AuthenticateResult = Journey;
export type AuthenticateWithAdviceResult = Journey;

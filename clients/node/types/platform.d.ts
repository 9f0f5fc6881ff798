// The types of the platform, which programs get from `@types/node` or from TypeScript's `lib: dom`. Where a program has
// neither, these are the members that programs use most, so that this package compiles in each case.

/** The type of the instances of a global class, or else another one. */
type Instance<Name extends string, Otherwise> = typeof globalThis extends { [One in Name]: { prototype: infer Type } }
  ? Type
  : Otherwise;

interface OwnAbortSignal {
  readonly aborted: boolean;
  readonly reason: any;
}
export type AbortSignal = Instance<"AbortSignal", OwnAbortSignal>;

export type URL = Instance<"URL", { readonly href: string }>;

interface OwnReader {
  read(): Promise<{ done: false; value: Uint8Array } | { done: true; value?: undefined }>;
  cancel(reason?: unknown): Promise<void>;
  releaseLock(): void;
}
interface OwnReadableStream {
  readonly locked: boolean;
  getReader(): OwnReader;
  cancel(reason?: unknown): Promise<void>;
}

interface OwnHeaders {
  get(name: string): string | null;
  has(name: string): boolean;
  forEach(act: (value: string, name: string) => void): void;
}
interface OwnResponse {
  readonly status: number;
  readonly statusText: string;
  readonly ok: boolean;
  readonly url: string;
  readonly redirected: boolean;
  readonly headers: OwnHeaders;
  readonly body: OwnReadableStream | null;
  readonly bodyUsed: boolean;
  text(): Promise<string>;
  json(): Promise<any>;
  arrayBuffer(): Promise<ArrayBuffer>;
  clone(): OwnResponse;
}
export type Response = Instance<"Response", OwnResponse>;

/** The body of a response. */
export type ByteStream = NonNullable<Response["body"]> & AsyncIterable<Uint8Array>;

interface OwnRequestInit {
  method?: string;
  headers?: Record<string, string> | [string, string][];
  body?: any;
  redirect?: "follow" | "manual" | "error";
  signal?: AbortSignal | null;
  duplex?: "half";
}
export type RequestInit = typeof globalThis extends { fetch: (input: any, init?: infer Init) => any }
  ? NonNullable<Init>
  : OwnRequestInit;

// The platform's types in the form in which `@types/node` declares them, which Debian does not have.

interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: any;
  throwIfAborted(): void;
}
declare var AbortSignal: typeof globalThis extends { onmessage: any; AbortSignal: infer Type }
  ? Type
  : { prototype: AbortSignal; new (): AbortSignal };

interface NodeResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: NodeStream | null;
  text(): Promise<string>;
  bytes(): Promise<Uint8Array>;
}
interface NodeStream {
  getReader(): { read(): Promise<{ done: boolean; value?: Uint8Array }> };
}
type ResponseOfNode = typeof globalThis extends { onmessage: any } ? {} : NodeResponse;
interface Response extends ResponseOfNode {}
declare var Response: typeof globalThis extends { onmessage: any; Response: infer Type }
  ? Type
  : { prototype: Response; new (body?: string): Response };

interface NodeRequestInit {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  redirect?: "follow" | "manual" | "error";
  signal?: AbortSignal;
}
type RequestInitOfNode = typeof globalThis extends { onmessage: any } ? {} : NodeRequestInit;
interface RequestInit extends RequestInitOfNode {}
declare function fetch(input: string, init?: RequestInit): Promise<Response>;

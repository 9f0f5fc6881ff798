// The little of Node that lib/ uses, for checking it: Debian has TypeScript, and no @types/node.

declare function require(name: string): any;
declare const module: { exports: any };

declare const process: {
  env: { [name: string]: string | undefined };
  emitWarning(warning: string): void;
  nextTick(act: () => void): void;
};

declare class Buffer extends Uint8Array {
  static from(data: ArrayBuffer, byteOffset: number, length: number): Buffer;
  static from(data: string | ArrayBuffer | Uint8Array, encoding?: "base64" | "base64url" | "latin1" | "utf8"): Buffer;
  static byteLength(text: string, encoding?: "base64"): number;
  equals(other: Uint8Array): boolean;
  static concat(pieces: Uint8Array[], size?: number): Buffer;
  toString(encoding?: "base64" | "base64url" | "latin1" | "utf8", start?: number, end?: number): string;
  subarray(start?: number, end?: number): Buffer;
  indexOf(value: number, from?: number): number;
}

/** What a timer is in Node; the types of browsers, of which lib/ uses the streams and fetch's, make it a number. */
interface Number {
  ref(): number;
  unref(): number;
  refresh(): number;
}

interface SymbolConstructor {
  readonly asyncDispose: symbol;
}

declare module "node:events" {
  class EventEmitter {
    emit(name: string, ...values: unknown[]): boolean;
    on(name: string, listener: (...values: any[]) => void): this;
  }
  function once(emitter: object, name: string): Promise<any[]>;
}

declare module "node:fs/promises" {
  function mkdtemp(prefix: string): Promise<string>;
  function rm(path: string, options: { recursive: boolean; force: boolean }): Promise<void>;
}

declare module "node:fs" {
  function readFileSync(path: string, encoding: "utf8"): string;
}

declare module "node:http" {
  interface ClientRequest {
    on(name: string, listener: (...values: any[]) => void): this;
    end(text: string): this;
  }
  class Agent {
    constructor(options: { keepAlive: boolean; maxSockets: number });
    destroy(): void;
  }
  function request(
    url: URL,
    options: { method: string; agent: Agent; headers: Record<string, string | number>; signal: AbortSignal },
  ): ClientRequest;
  const STATUS_CODES: { [status: number]: string | undefined };
}

declare module "node:os" {
  function tmpdir(): string;
}

declare module "node:querystring" {
  function stringify(query: object): string;
}

declare module "node:path" {
  function join(...parts: string[]): string;
}

declare module "node:util" {
  function isDeepStrictEqual(one: unknown, other: unknown): boolean;
}

declare module "node:net" {
  interface Server {
    listen(path: string): this;
    close(done: () => void): this;
  }
  function createServer(onConnection: (socket: Socket) => void): Server;
  interface Socket {
    readonly destroyed: boolean;
    on(name: string, listener: (...values: any[]) => void): this;
    write(data: string | Uint8Array, done?: (error?: Error | null) => void): boolean;
    pause(): this;
    resume(): this;
    ref(): this;
    unref(): this;
    destroy(): this;
  }
  function createConnection(options: { path: string }): Socket;
}

declare module "node:crypto" {
  function createHash(name: "sha256"): { update(text: string): { digest(encoding: "base64url"): string } };
  function randomBytes(size: number): Buffer;
  function randomUUID(): string;
  function timingSafeEqual(one: Uint8Array, other: Uint8Array): boolean;
}

declare module "node:stream" {
  function isDisturbed(stream: ReadableStream): boolean;
}

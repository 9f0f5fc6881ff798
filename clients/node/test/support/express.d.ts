// The little of Node and Express that a typed program uses, with the shapes of @types/node and @types/express 5, which Debian
// does not have.

declare module "node:assert/strict" {
  function assert(value: unknown): asserts value;
  namespace assert {
    function equal(actual: unknown, expected: unknown): void;
    function deepEqual(actual: unknown, expected: unknown): void;
    function match(text: string, pattern: RegExp): void;
  }
  export = assert;
}

declare module "node:events" {
  function once(emitter: object, name: string): Promise<any[]>;
}

declare module "node:test" {
  function after(run: () => Promise<void>): void;
  function test(name: string, run: () => Promise<void>): Promise<void>;
}

declare module "node:http" {
  interface IncomingMessage extends AsyncIterable<any> {
    method?: string | undefined;
    url?: string | undefined;
    headers: { cookie?: string | undefined; "set-cookie"?: string[] | undefined; [name: string]: string | string[] | undefined };
    rawHeaders: string[];
  }
  interface ServerResponse {
    statusCode: number;
    readonly headersSent: boolean;
    getHeader(name: string): number | string | string[] | undefined;
    setHeader(name: string, value: number | string | readonly string[]): this;
    end(callback?: () => void): this;
    end(body: any, callback?: () => void): this;
  }
  interface Server {
    listen(port: number, host: string): this;
    address(): string | { address: string; port: number } | null;
    on(event: "request", listener: (request: IncomingMessage, response: ServerResponse) => void): this;
    close(): this;
  }
  function createServer(): Server;
}

declare namespace Express {
  interface Request {}
}

declare module "express" {
  import { IncomingMessage, Server, ServerResponse } from "node:http";
  interface Request extends IncomingMessage, Express.Request {
    get(name: string): string | undefined;
  }
  interface Response extends ServerResponse {
    redirect(status: number, url: string): void;
    send(body?: any): this;
    status(code: number): this;
  }
  type Next = (error?: any) => void;
  type Handler = (request: Request, response: Response, next: Next) => void | Promise<void>;
  type ErrorHandler = (error: any, request: Request, response: Response, next: Next) => void | Promise<void>;
  interface Application {
    (request: IncomingMessage, response: ServerResponse): any;
    get(path: string, ...handlers: Handler[]): this;
    post(path: string, ...handlers: Handler[]): this;
    use(...handlers: (Handler | ErrorHandler)[]): this;
    listen(port: number, host: string, ready?: () => void): Server;
  }
  function express(): Application;
  export = express;
}

declare const process: { argv: string[]; env: { [name: string]: string | undefined } };

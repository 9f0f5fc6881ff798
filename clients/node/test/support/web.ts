// Compiled, never run: the login of a web application.
import { Client } from "postern-auth";
import type { Session } from "postern-auth";
import { createLogin } from "postern-auth/express";
import type { LoginProblem } from "postern-auth/express";

declare const req: { method: string; url: string; headers: { cookie?: string }; posternSession?: Session };
declare const res: {
  statusCode: number;
  headersSent: boolean;
  getHeader(name: string): number | string | string[] | undefined;
  setHeader(name: string, value: number | string | readonly string[]): unknown;
  end(body?: string): void;
};

export async function usage(): Promise<void> {
  const client = new Client();
  const page = ({ kind, title, link }: LoginProblem) => (kind === "cancelled" ? title : link);
  const login = createLogin(client, {
    issuer: "corp",
    publicUrl: "https://shop.example",
    authorization: { acrValues: ["mfa"] },
    page,
    onError: ({ traceId }, { url }) => `${traceId} ${url}`,
  });
  await login.routes(req, res, () => {});
  await login.currentSession(req, res, (error) => error ?? req.posternSession?.subject?.toUpperCase());
  await login.requireSession(req, res, () => {});
  await login.handleErrors(new Error(), req, res, () => {});
  // @ts-expect-error how browsers reach it is needed
  createLogin(client, { issuer: "corp" });
  // @ts-expect-error no such option
  createLogin(client, { issuer: "corp", publicUrl: "https://shop.example", origin: "x" });
}

// Compiled and run: a program with users and uploads, and its tests, written from the guide.
import { Client, createFetch, LoginRequired, PosternError } from "postern-auth";
import { failure, FakePostern, FetchResult } from "postern-auth/testing";

class Shop {
  private readonly fetch;
  constructor(private readonly client: Client) {
    this.fetch = createFetch({ client, resource: "orders" });
  }

  async beginLogin(redirectUri: string): Promise<{ url: string; state: string }> {
    const { authorizationUrl, state } = await this.client.beginAuthorization({ issuer: "corp", redirectUri });
    return { url: authorizationUrl, state };
  }

  async completeLogin(callbackUrl: string, state: string): Promise<string> {
    return (await this.client.completeAuthorization({ callbackUrl, state })).session;
  }

  async upload(session: string, file: Blob): Promise<"done" | "try again" | "log in" | "too large"> {
    const body = new FormData();
    body.set("file", file, "order.csv");
    try {
      await this.fetch("uploads", { method: "POST", body, session });
      return "done";
    } catch (error) {
      if (error instanceof LoginRequired) return "log in";
      const cause = error instanceof Error ? error.cause : undefined;
      if (!(cause instanceof PosternError)) throw error;
      if (cause.reason === "message_too_large") return "too large";
      if (cause.reason === "server_unreachable") return "try again";
      throw error;
    }
  }
}

function equal<Value>(actual: Value, expected: Value): void {
  if (actual !== expected) throw new Error(`${String(actual)} is not ${String(expected)}`);
}

const fake = await FakePostern.start();
const shop = new Shop(fake.client);
fake.when("fetchResource", { path: "uploads" }).returns(failure("server_unreachable"), FetchResult.of(201));
const { url, state } = await shop.beginLogin("https://shop.example/callback");
const session = await shop.completeLogin(fake.callbackUrl(url, { subject: "alice" }), state);
equal(await shop.upload(session, new Blob(["a,b"])), "try again");
equal(await shop.upload(session, new Blob(["a,b"])), "done");
equal(await shop.upload(session, new Blob([new Uint8Array(12_000_000)])), "too large");
equal(fake.callsTo("fetchResource")[0]?.session, session);
await fake.client.endSession({ session });
equal(await shop.upload(session, new Blob(["a,b"])), "log in");
fake.verify();
await fake.stop();

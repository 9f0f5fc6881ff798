// The methods of Adobe Pass, against the real sidecar and the playground's double of the service.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, PassError, PassNotConfigured, PassRejected } from "postern-auth";
import { Playground, Sidecar } from "./support/upstream.mjs";
import { rejection } from "./support/waiting.mjs";

test("a login at Adobe Pass, from the code to the media token and the logout", async (t) => {
  const playground = await Playground.start();
  t.after(() => playground.stop());
  await playground.ask("POST", "/playground/adobe", { throttle: false });
  const provider = {
    kind: "adobe-pass",
    baseUrl: `${playground.baseUrl}/adobe`,
    serviceProvider: "REF30",
    softwareStatement: "e30.e30.e30",
    deviceIdFile: "device-id",
    domainNames: ["example.com"],
    redirectUrls: ["https://example.com/done"],
  };
  const sidecar = await Sidecar.start(playground, { preauthorization: { tv: provider } });
  t.after(() => sidecar.stop());
  const client = new Client({ socketPath: sidecar.socketPath });
  t.after(() => client.close());

  const { mvpds } = await client.pass.getConfiguration({ provider: "tv" });
  assert.equal(mvpds[0].id, "Cablevision");
  const login = { mvpd: "Cablevision", domainName: "example.com", redirectUrl: "https://example.com/done" };
  const begun = await client.pass.createSession({ provider: "tv", ...login });
  assert.equal(begun.actionName, "authenticate");
  await playground.ask("POST", "/playground/adobe", { login: { code: begun.code } });
  const found = await client.pass.listProfiles({ provider: "tv", code: begun.code, waitMs: 10_000 }, { timeoutMs: 20_000 });
  assert.equal(found.state, "authenticated");
  const { decisions } = await client.pass.authorize({ provider: "tv", resources: ["news", "deny"] });
  assert.deepEqual(decisions.map(({ authorized, token }) => [authorized, token !== undefined]), [[true, true], [false, false]]);
  assert.deepEqual((await client.pass.logout({ provider: "tv" })).forgotten, ["Cablevision"]);

  const wrong = await rejection(client.pass.listProfiles({ provider: "tv", code: "UNKNOWN" }));
  assert.ok(wrong instanceof PassRejected && wrong instanceof PassError);
  assert.equal(wrong.next, "newCode");
  assert.equal(wrong.error.code, "invalid_parameter_code");
  assert.ok((await rejection(client.pass.getConfiguration({ provider: "films" }))) instanceof PassNotConfigured);
});

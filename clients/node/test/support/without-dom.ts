// Compiled without `lib: dom`, never run: with no types of the platform at all, and with those of a Node program.
import { AdviceRequired, Client, createFetch, LoginRequired } from "postern-auth";

export async function usage(): Promise<void> {
  const client = new Client({ timeoutMs: 1000 });
  const post = createFetch({ client, resource: "billing" });
  const response = await post("invoices", { method: "POST", headers: { a: "b" }, body: "x", redirect: "manual" });
  const text: string = await response.text();
  text.concat(response.headers.get("x") ?? "", response.postern.task);
  // @ts-expect-error no such member
  response.nothing;
  // @ts-expect-error not a signal
  await client.getInfo({}, { signal: 1 });
  // @ts-expect-error not a way to treat redirects
  await post("invoices", { redirect: "perhaps" });

  for await (const piece of client.stream({ path: "export" }).body) piece.byteLength.toFixed();
  const { value } = await client.stream({ path: "export" }).body.getReader().read();
  value?.byteLength.toFixed();
  const { postern } = await createFetch({ client, streaming: true })("invoices");
  (await postern.result).attempts.toFixed();

  try {
    await client.close();
  } catch (error) {
    if (error instanceof LoginRequired) error.reason.toUpperCase();
    if (error instanceof AdviceRequired) error.continuation?.toUpperCase();
  }
}

import { Client, createFetch } from "postern-auth";

const client = new Client();
const fetch = createFetch({ client, resource: "orders" }); // a fetch like any other, with tokens

const response = await fetch("orders");
console.log(response.status, response.headers.get("content-type"));
for (const { id, quantity, item } of (await response.json()).orders) console.log(id, quantity, item);

try {
  await fetch("https://elsewhere.example/steal");
} catch (error) {
  console.log(error.name, error.reason, error.outcome);
}
await client.close();

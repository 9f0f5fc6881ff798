// @ts-check
import { Client } from "postern-auth";
import { createApp } from "./receipts.mjs";

const port = Number(process.env.PORT ?? 8000);
const publicUrl = process.env.PUBLIC_URL ?? `http://127.0.0.1:${port}`;
createApp(new Client(), publicUrl).listen(port, "127.0.0.1", () => console.log(`Open ${publicUrl}`));

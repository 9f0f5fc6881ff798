// @ts-check
// A web application whose users log in and upload receipts. No token of theirs enters it.
import express from "express";
import { createFetch } from "postern-auth";
import { createLogin } from "postern-auth/express";

/**
 * @param {import("postern-auth").Client} client
 * @param {string} publicUrl how browsers reach the application
 */
export function createApp(client, publicUrl) {
  const login = createLogin(client, { issuer: "corp", publicUrl });
  const receipts = createFetch({ client, resource: "receipts" });
  const app = express();
  app.use(login.routes, login.currentSession);

  app.get("/", ({ posternSession }, response) => {
    response.send(posternSession === undefined ? '<a href="/login">Log in</a>' : FORMS);
  });

  app.post("/receipts", login.requireSession, (request, response, next) => {
    // The form as the browser sends it, up to 11 MiB.
    const headers = { "content-type": request.get("content-type") ?? "application/octet-stream" };
    receipts("receipts", { method: "POST", headers, body: request, session: request.posternSession?.session })
      .then((stored) => {
        if (stored.ok) response.redirect(303, "/");
        else response.status(502).send("Not stored");
      })
      .catch(next);
  });

  app.use(login.handleErrors);
  return app;
}

const FORMS = `
  <form method="post" action="/receipts" enctype="multipart/form-data"><input type="file" name="file"><button>Upload</button></form>
  <form method="post" action="/logout"><button>Log out</button></form>`;

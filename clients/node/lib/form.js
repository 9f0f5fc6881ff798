"use strict";

const { stripped } = require("./white-space.js");

const MAX_BYTES = 64 * 1024;
const MEDIA_TYPE = "application/x-www-form-urlencoded";

/** The body of a request as text; undefined when it is too large, or does not arrive. */
function textOf(req) {
  return new Promise((resolve) => {
    const pieces = [];
    let size = 0;
    const take = (piece) => {
      size += piece.length;
      if (size <= MAX_BYTES) return void pieces.push(piece);
      // Not destroyed: that would take the connection away from the response.
      req.off("data", take).resume();
      resolve(undefined);
    };
    req.on("data", take);
    req.once("end", () => resolve(Buffer.concat(pieces).toString()));
    for (const name of ["error", "close"]) req.once(name, () => resolve(undefined));
  });
}

/**
 * The field of a form that has it exactly once, with a value; undefined otherwise. The body is read here, or was read
 * by a middleware before, which left it in `req.body`.
 * @returns {Promise<string | undefined>}
 */
async function formField(req, name) {
  const type = stripped((req.headers["content-type"] ?? "").split(";", 1)[0]).toLowerCase();
  if (type !== MEDIA_TYPE) return undefined;
  const wasRead = req.body?.[name] !== undefined || req.readableEnded;
  const values = wasRead ? [req.body?.[name]] : new URLSearchParams(await textOf(req)).getAll(name);
  const isOne = values.length === 1 && typeof values[0] === "string" && values[0] !== "";
  return isOne ? values[0] : undefined;
}

module.exports = { formField };

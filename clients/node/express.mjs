// The one implementation, for `import`.
import express from "./lib/express.js";

export const { createLogin } = express;

"use strict";

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { promisify } = require("node:util");
const { RequestError } = require("./errors.js");

const [close, mkdtemp, open, read, rm, write] = ["close", "mkdtemp", "open", "read", "rm", "write"].map((name) => {
  return promisify(fs[name]);
});

// What is smaller stays in memory.
const MEMORY_BYTES = 1024 * 1024;
const PIECE_BYTES = 64 * 1024;

// A body that nobody reads goes with its response.
const abandoned = new FinalizationRegistry((descriptor) => fs.close(descriptor, () => {}));

/** Takes a body of any size, and gives it back as a stream: a large one is in a file that has no name any more. */
class Spool {
  #pieces = [];
  #size = 0;
  #descriptor;

  async write(piece) {
    this.#size += piece.length;
    if (this.#size <= MEMORY_BYTES) {
      this.#pieces.push(piece);
      return;
    }
    if (this.#descriptor === undefined) {
      this.#descriptor = await temporaryFile();
      for (const one of this.#pieces.splice(0)) await writeAll(this.#descriptor, one);
    }
    await writeAll(this.#descriptor, piece);
  }

  body() {
    if (this.#descriptor === undefined) return Buffer.concat(this.#pieces);
    const descriptor = this.#descriptor;
    const token = {};
    const end = () => {
      abandoned.unregister(token);
      return close(descriptor);
    };
    let position = 0;
    const source = {
      async pull(controller) {
        const { bytesRead, buffer } = await read(descriptor, new Uint8Array(PIECE_BYTES), 0, PIECE_BYTES, position);
        position += bytesRead;
        if (bytesRead > 0) return controller.enqueue(buffer.subarray(0, bytesRead));
        await end();
        controller.close();
      },
      cancel: end,
    };
    const stream = new ReadableStream(source, { highWaterMark: 0 });
    abandoned.register(stream, descriptor, token);
    return stream;
  }

  /** Of a body that is not whole. */
  async discard() {
    if (this.#descriptor !== undefined) await close(this.#descriptor);
  }
}

async function temporaryFile() {
  const directory = await mkdtemp(path.join(os.tmpdir(), "postern-"));
  try {
    return await open(path.join(directory, "body"), "wx+", 0o600);
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function writeAll(descriptor, piece) {
  for (let done = 0; done < piece.length; ) {
    done += (await write(descriptor, piece, done, piece.length - done)).bytesWritten;
  }
}

/** A fetch whose body has no bound but the disk's: `[result, body]`. */
async function fetchSpooled(client, params, options) {
  const spool = new Spool();
  try {
    const { body, result } = client.stream(params, options);
    for await (const piece of body) await spool.write(piece);
    return [await result, spool.body()];
  } catch (error) {
    await spool.discard();
    // Encrypted answers prove themselves at their end, and come as a whole.
    const isWholeOnly = error instanceof RequestError && error.path === "/stream";
    if (!isWholeOnly) throw error;
    return [await client.fetchResource(params, options)];
  }
}

module.exports = { fetchSpooled };

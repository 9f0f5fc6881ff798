"use strict";

const { FrameSplitter, frame, Splitter } = require("../framing.js");

const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const LETTER_C = 0x43;
// As the sidecar sends them.
const MAX_PIECE_BYTES = 48 * 1024;

/** One connection to the fake: the two framings of the sidecar, and requests in both directions. */
class ServedConnection {
  /**
   * @param {import("node:net").Socket} socket
   * @param {{onMessage: (from: ServedConnection, message: any) => void, onEnd: (from: ServedConnection) => void}} owner
   */
  constructor(socket, owner) {
    this.socket = socket;
    /** @type {Set<string>} */
    this.events = new Set();
    /** @type {Set<string>} */
    this.delegates = new Set();
    /** Calls under way, by id.
     * @type {Map<unknown, (reason: string) => void>} */
    this.running = new Map();
    /** @type {Map<string, (answer: any) => void>} */
    this.asked = new Map();
    this.nextId = 1;
    this.isFramed = false;
    const onMessage = (text) => {
      const message = parsed(text);
      if (message !== undefined) return owner.onMessage(this, message);
      const data = { reason: "parse_error" };
      this.send({ id: null, error: { code: -32700, message: "a message is an object of JSON; the fake takes no batches", data } });
    };
    socket.on("error", () => {});
    socket.on("close", () => {
      for (const answered of this.asked.values()) answered(undefined);
      for (const end of this.running.values()) end("request_cancelled");
      owner.onEnd(this);
    });
    socket.on("data", (data) => {
      if (this.splitter === undefined) {
        this.isFramed = (data[0] & ~0x20) === LETTER_C;
        const pieceless = () => {};
        this.splitter = this.isFramed
          ? new FrameSplitter(MAX_MESSAGE_BYTES, onMessage, pieceless)
          : new Splitter(MAX_MESSAGE_BYTES, onMessage);
      }
      try {
        this.splitter.push(data);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        socket.destroy(); // a frame that is none, or is too large
      }
    });
  }

  /** @param {Record<string, any>} message */
  send(message) {
    const text = `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
    this.socket.write(this.isFramed ? frame(text) : text);
  }

  /** A request of the sidecar to its client; undefined if it has no result. */
  ask(method, params) {
    const id = `fake-${this.nextId++}`;
    return new Promise((resolve) => {
      this.asked.set(id, (answer) => {
        this.asked.delete(id);
        resolve(answer);
      });
      this.send({ id, method, params });
    });
  }

  /** The pieces of a body, as frames or as notifications. */
  sendBody(task, bytes, asFrames) {
    for (let start = 0, sequence = 0; start < bytes.length; start += MAX_PIECE_BYTES, sequence += 1) {
      const piece = bytes.subarray(start, start + MAX_PIECE_BYTES);
      if (!asFrames) {
        const params = { task, sequence, dataBase64: piece.toString("base64") };
        this.send({ method: "fetchResource.chunk", params });
        continue;
      }
      const fields = ["Content-Type: application/octet-stream", `Postern-Task: ${encodeURIComponent(task)}`];
      this.socket.write(Buffer.concat([Buffer.from([`Content-Length: ${piece.length}`, ...fields, "", ""].join("\r\n")), piece]));
    }
  }
}

/** The object in a text; undefined when there is none. */
function parsed(text) {
  try {
    const message = JSON.parse(text);
    return typeof message === "object" && message !== null && !Array.isArray(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

module.exports = { ServedConnection };

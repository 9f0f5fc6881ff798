"use strict";

const LINE_FEED = 10;
// The number of pieces that are joined at once: a small piece costs more than its bytes.
const MAX_PIECES = 1024;

/** Splits the received bytes into messages, one per line. Buffers one incomplete message of bounded size. */
class Splitter {
  constructor(maxBytes, onMessage) {
    this.maxBytes = maxBytes;
    this.onMessage = onMessage;
    this.pieces = [];
    this.small = 0;
    this.size = 0;
  }

  /** Whether a message is incomplete. */
  get isPartial() {
    return this.size > 0;
  }

  /** Throws a RangeError for a message over the limit; errors of `onMessage` are passed on. */
  push(chunk) {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(LINE_FEED, start);
      const length = (end < 0 ? chunk.length : end) - start;
      if (this.size + length > this.maxBytes) throw new RangeError(`a message of more than ${this.maxBytes} bytes`);
      if (end < 0) {
        if (length > 0) {
          this.pieces.push(start === 0 ? chunk : chunk.subarray(start));
          this.size += length;
          this.#compact();
        }
        return;
      }
      let text;
      if (this.size === 0) {
        text = chunk.toString("utf8", start, end);
      } else {
        this.pieces.push(chunk.subarray(start, end));
        text = Buffer.concat(this.pieces, this.size + length).toString("utf8");
        this.pieces = [];
        this.small = 0;
        this.size = 0;
      }
      start = end + 1;
      if (text.length > 0) this.onMessage(text);
    }
  }

  #compact() {
    this.small += 1;
    if (this.small < MAX_PIECES) return;
    this.small = 0;
    this.pieces.push(Buffer.concat(this.pieces.splice(-MAX_PIECES)));
  }
}

const HEADER_END = "\r\n\r\n";
const MAX_HEADER_BYTES = 4096;

/** The same for frames with a header, as in LSP: messages, and pieces of bodies, which are bytes. */
class FrameSplitter {
  constructor(maxBytes, onMessage, onPiece) {
    this.maxBytes = maxBytes;
    this.onMessage = onMessage;
    this.onPiece = onPiece;
    /** The beginning of a header block. */
    this.header = undefined;
    /** The pieces of a content, and how many bytes of it are missing; undefined between two frames. */
    this.pieces = [];
    this.missing = undefined;
    this.length = 0;
    this.task = undefined;
  }

  /** Whether a frame is incomplete. */
  get isPartial() {
    return this.header !== undefined || this.missing !== undefined;
  }

  /** Throws a RangeError for a frame over the limit, or a malformed header block; errors of callbacks are passed on. */
  push(chunk) {
    let data = chunk;
    if (this.header !== undefined) {
      data = Buffer.concat([this.header, chunk]);
      this.header = undefined;
    }
    let start = 0;
    while (start < data.length) {
      if (this.missing === undefined) {
        const end = data.indexOf(HEADER_END, start);
        if ((end < 0 ? data.length : end + HEADER_END.length) - start > MAX_HEADER_BYTES) {
          throw new RangeError("a header block that does not end");
        }
        if (end < 0) {
          this.header = Buffer.from(data.subarray(start));
          return;
        }
        this.#begin(data.toString("latin1", start, end));
        start = end + HEADER_END.length;
      }
      const piece = data.subarray(start, start + this.missing);
      start += piece.length;
      this.missing -= piece.length;
      this.pieces.push(piece);
      if (this.missing === 0) this.#complete();
    }
  }

  #begin(header) {
    const fields = new Map(header.split("\r\n").map(field));
    const length = fields.get("content-length") ?? "";
    if (!/^\d{1,12}$/.test(length)) throw new RangeError("a header block without a length");
    if (Number(length) > this.maxBytes) throw new RangeError(`a message of more than ${this.maxBytes} bytes`);
    this.length = this.missing = Number(length);
    this.task = fields.get("postern-task");
  }

  #complete() {
    const { pieces, length, task } = this;
    this.pieces = [];
    this.missing = undefined;
    if (task === undefined) {
      const text = (pieces.length === 1 ? pieces[0] : Buffer.concat(pieces, length)).toString("utf8");
      return this.onMessage(text);
    }
    // Bytes of its own: a reader may transfer their buffer.
    const bytes = new Uint8Array(length);
    let offset = 0;
    for (const piece of pieces) {
      bytes.set(piece, offset);
      offset += piece.length;
    }
    this.onPiece(decoded(task), bytes);
  }
}

function field(line) {
  const colon = line.indexOf(":");
  return /** @type {[string, string]} */ ([line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]);
}

function decoded(task) {
  try {
    return decodeURIComponent(task);
  } catch {
    throw new RangeError("a piece that names no task");
  }
}

/** The frame of a message with its line feed. */
function frame(text) {
  const content = text.slice(0, -1);
  return `Content-Length: ${Buffer.byteLength(content)}${HEADER_END}${content}`;
}

module.exports = { frame, FrameSplitter, Splitter };

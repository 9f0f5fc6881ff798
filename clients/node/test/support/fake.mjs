// A server on a Unix socket that says what a test wants, right or wrong.
import { mkdtemp, rm } from "node:fs/promises";
import { once } from "node:events";
import net from "node:net";

export class FakeSidecar {
  /** `onRequest(message, socket, connectionNumber)` for each message; `onConnect(socket, number)` before any. */
  static async start({ onRequest = () => {}, onConnect = () => {} } = {}) {
    const fake = new FakeSidecar();
    fake.directory = await mkdtemp("/tmp/postern-fake-");
    fake.socketPath = `${fake.directory}/s`;
    fake.sockets = new Set();
    fake.requests = [];
    fake.connections = 0;
    fake.server = net.createServer((socket) => {
      const number = ++fake.connections;
      fake.sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => fake.sockets.delete(socket));
      onConnect(socket, number);
      let bytes = Buffer.alloc(0);
      socket.on("data", (data) => {
        bytes = Buffer.concat([bytes, data]);
        for (let text = next(); text !== undefined; text = next()) {
          const message = JSON.parse(text);
          fake.requests.push(message);
          onRequest(message, socket, number);
        }
      });
      // The next message, in the framing of the first byte.
      const next = () => {
        socket.isFramed ??= bytes[0] === 0x43;
        const header = socket.isFramed ? bytes.indexOf("\r\n\r\n") : 0;
        if (header < 0 || bytes.length === 0) return undefined;
        const start = socket.isFramed ? header + 4 : 0;
        const length = /^Content-Length: (\d+)/.exec(bytes.toString("latin1", 0, header))?.[1];
        const end = socket.isFramed ? start + Number(length) : bytes.indexOf("\n");
        if (end < 0 || end > bytes.length) return undefined;
        const text = bytes.toString("utf8", start, end);
        bytes = bytes.subarray(socket.isFramed ? end : end + 1);
        return text;
      };
    });
    fake.server.listen(fake.socketPath);
    await once(fake.server, "listening");
    return fake;
  }

  /** As a sidecar that is being started again; `comeBack` ends that. */
  async goAway() {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  comeBack() {
    this.server.listen(this.socketPath);
  }

  async stop() {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** A message in the caller's framing. */
export function encoded(socket, message) {
  const text = JSON.stringify({ jsonrpc: "2.0", ...message });
  return socket.isFramed ? `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}` : `${text}\n`;
}

export function tell(socket, message) {
  socket.write(encoded(socket, message));
}

/** A piece of a body as a frame. */
export function tellPiece(socket, task, bytes) {
  const fields = `Content-Length: ${bytes.length}\r\nContent-Type: application/octet-stream\r\nPostern-Task: ${task}`;
  socket.write(Buffer.concat([Buffer.from(`${fields}\r\n\r\n`), bytes]));
}

export function answer(socket, id, result = {}) {
  tell(socket, { id, result });
}

export function refuse(socket, id, code, data) {
  tell(socket, { id, error: { code, message: "no", data } });
}

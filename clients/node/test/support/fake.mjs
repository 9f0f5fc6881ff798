// A server on a Unix socket that says what a test wants, right or wrong.
import { mkdtemp, rm } from "node:fs/promises";
import { once } from "node:events";
import net from "node:net";

export class FakeSidecar {
  /** `onRequest(message, socket, connectionNumber)` for each line; `onConnect(socket, number)` before any. */
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
      let text = "";
      socket.on("data", (data) => {
        const lines = (text + data).split("\n");
        text = lines.pop();
        for (const message of lines.map((line) => JSON.parse(line))) {
          fake.requests.push(message);
          onRequest(message, socket, number);
        }
      });
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

export function answer(socket, id, result = {}) {
  socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
}

export function refuse(socket, id, code, data) {
  socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: "no", data } })}\n`);
}

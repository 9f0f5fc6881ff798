// A directory in which the package is installed, as in a program that uses it.
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export const packageRoot = fileURLToPath(new URL("../../", import.meta.url));
export const repositoryRoot = fileURLToPath(new URL("../../../../", import.meta.url));

/** Debian's TypeScript: its folder is on the path of Debian's own Node only. */
export const typescriptPath = createRequire(import.meta.url).resolve("/usr/share/nodejs/typescript");

export async function makeConsumer() {
  const directory = await mkdtemp("/tmp/postern-consumer-");
  await mkdir(`${directory}/node_modules/@postern`, { recursive: true });
  await symlink(packageRoot, `${directory}/node_modules/@postern/client`);
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) };
}

/** Runs Node with these arguments; ends it after a while. */
export function runNode(args, { cwd, env, seconds = 60 } = {}) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd,
      env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: seconds * 1000,
      killSignal: "SIGKILL",
    });
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) {
      child[name].setEncoding("utf8").on("data", (text) => (output[name] += text));
    }
    child.on("close", (status, signal) => resolve({ status, signal, ...output }));
  });
}

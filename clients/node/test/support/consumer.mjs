// A directory in which the package is installed, as in a program that uses it.
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { spawn } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const packageRoot = fileURLToPath(new URL("../../", import.meta.url));
export const repositoryRoot = fileURLToPath(new URL("../../../../", import.meta.url));

/** Debian's TypeScript: its folder is on the path of Debian's own Node only. */
export const typescriptPath = createRequire(import.meta.url).resolve("/usr/share/nodejs/typescript");

/** What npm always adds to `files`, whatever its spelling of the end. */
const ALWAYS = /^(package\.json|(readme|license|licence)(\..*)?)$/i;

/** The files of the package that npm would publish, by the rule of `files` in package.json, with slashes, sorted. */
export async function packedFiles() {
  const { files } = JSON.parse(await readFile(path.join(packageRoot, "package.json"), "utf8"));
  const always = (await readdir(packageRoot)).filter((name) => ALWAYS.test(name));
  return (await Promise.all([...new Set([...files, ...always])].map(filesBelow))).flat().sort();
}

async function filesBelow(name) {
  const file = path.join(packageRoot, name);
  if (!(await stat(file)).isDirectory()) return [name];
  return (await Promise.all((await readdir(file)).map((one) => filesBelow(`${name}/${one}`)))).flat();
}

/** Only the files that are published: what they lack fails as it would for a user. */
export async function makeConsumer() {
  const directory = await mkdtemp("/tmp/postern-consumer-");
  await mkdir(`${directory}/node_modules`);
  for (const file of await packedFiles()) {
    await cp(path.join(packageRoot, file), path.join(directory, "node_modules/postern-auth", file));
  }
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

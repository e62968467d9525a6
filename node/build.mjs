// Builds the addon for this machine and puts it beside the package: node build.mjs [cargo's arguments]
//
// Without arguments it builds this crate alone; `make addon` passes the selection of packages that the Rust tests have, so
// that both share what they compile.
//
// @napi-rs/cli's own `napi build` always compiles for a named target, in a folder of its own, and so compiles the engine a
// second time. This calls cargo as the rest of the workspace does, and takes from the CLI what makes the types. Release
// artefacts for other platforms are the CLI's business (the "napi" part of package.json).
import { generateTypeDef } from '@napi-rs/cli';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const { currentPlatform, triple } = createRequire(import.meta.url)('./dist/platform.cjs');
const header = '// Written by the build from node/src; `make stubs` checks it in. Change the Rust files, not this one.\n';

const run = (arguments_, env = {}) => {
  const options = { cwd: here, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'inherit'] };
  const { status, stdout, error } = spawnSync('cargo', arguments_, { ...options, env: { ...process.env, ...env } });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
  return stdout;
};

const metadata = JSON.parse(run(['metadata', '--format-version=1', '--no-deps']));
const typeDefs = join(metadata.target_directory, 'napi-types');
mkdirSync(typeDefs, { recursive: true });

const selection = process.argv.length > 2 ? process.argv.slice(2) : ['-p', 'ferromcp-node'];
const messages = run(['build', '--message-format=json-render-diagnostics', ...selection], {
  // The types are written while the crate compiles, so it has to compile now, even if another build has just done that.
  NAPI_TYPE_DEF_TMP_FOLDER: typeDefs,
  NAPI_FORCE_BUILD_FERROMCP_NODE: String(Date.now()),
});
const artifact = messages
  .split('\n')
  // The macros that write the types may print a line of their own.
  .filter((line) => line.startsWith('{'))
  .map((line) => JSON.parse(line))
  .find((message) => message.target?.name === 'ferromcp_node' && message.profile?.test === false);

// A running process may have the old file mapped: a new file takes its name, the old one is not written into.
const addon = join(here, `ferromcp.${triple(currentPlatform())}.node`);
copyFileSync(artifact.filenames[0], `${addon}.new`);
renameSync(`${addon}.new`, addon);

// The library and its unit tests are compiled at the same time, and both write the types: each line counts once.
for (const name of readdirSync(typeDefs)) {
  const file = join(typeDefs, name);
  writeFileSync(file, `${[...new Set(readFileSync(file, 'utf8').split('\n').filter(Boolean))].join('\n')}\n`);
}
const { dts } = await generateTypeDef({ typeDefDir: typeDefs, cwd: here, dtsHeader: header });
writeFileSync(join(metadata.target_directory, 'native.d.cts'), dts);

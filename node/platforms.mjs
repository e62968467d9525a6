// Makes the packages that are published: node platforms.mjs [a folder inside of this one; npm when not given]
//
// There is one for each platform, with the addon alone, and the main one, which names all of them as optional dependencies:
// npm installs the one that fits. The list of platforms is "napi.targets" in package.json, and the CLI's own command lays
// the packages out; addons that lie here are put into theirs. `npm run build` comes first.
import { NapiCli } from '@napi-rs/cli';
import { copyFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, 'npm'));
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));

rmSync(out, { recursive: true, force: true });
await new NapiCli().createNpmDirs({ cwd: here, npmDir: out });

const optionalDependencies = {};
const missing = [];
for (const folder of readdirSync(out).sort()) {
  const { name, version, main } = read(join(out, folder, 'package.json'));
  optionalDependencies[name] = version;
  if (existsSync(join(here, main))) copyFileSync(join(here, main), join(out, folder, main));
  else missing.push(main);
}

// What is for building alone is left out.
const { scripts: _, devDependencies: __, napi: ___, ...manifest } = read(join(here, 'package.json'));
const marker = join(here, 'dist', '.built');
cpSync(join(here, 'dist'), join(out, 'ferromcp', 'dist'), { recursive: true, filter: (file) => file !== marker });
writeFileSync(join(out, 'ferromcp', 'package.json'), `${JSON.stringify({ ...manifest, optionalDependencies }, null, 2)}\n`);
for (const licence of ['LICENSE-APACHE', 'LICENSE-MIT']) {
  for (const folder of readdirSync(out)) copyFileSync(join(here, '..', licence), join(out, folder, licence));
}
if (missing.length > 0) console.error(`not built here: ${missing.join(', ')}`);

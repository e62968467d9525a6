// The packages that are published: one for each platform, and the main one that finds them.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const { loadNative } = require('../dist/loader.cjs');
const { currentPlatform, triple } = require('../dist/platform.cjs');
const manifest = require('../package.json');

// The parts of a Rust target, as Node names them.
const ARCHITECTURES = { x86_64: 'x64', aarch64: 'arm64' };
const SYSTEMS = { linux: 'linux', darwin: 'darwin', windows: 'win32' };
const platformOf = (target) => {
  const [arch, , system, libc] = target.split('-');
  const platform = { os: SYSTEMS[system], arch: ARCHITECTURES[arch] };
  return system === 'linux' ? { ...platform, libc } : platform;
};
const PLATFORMS = manifest.napi.targets.map(platformOf);

// The CLI writes nowhere but inside of the package's own folder.
const packages = mkdtempSync(fileURLToPath(new URL('platforms-', import.meta.url)));
after(() => rmSync(packages, { recursive: true, force: true }));
execFileSync(process.execPath, [fileURLToPath(new URL('../platforms.mjs', import.meta.url)), packages], { stdio: 'ignore' });
const read = (name) => JSON.parse(readFileSync(join(packages, name, 'package.json'), 'utf8'));

/** The package that the loader asks for on this platform, where no addon lies beside it. */
function askedFor(platform) {
  const asked = [];
  const load = (id) => {
    asked.push(id);
    throw new Error('not here');
  };
  assert.throws(() => loadNative(load, platform), { code: 'FERROMCP_NATIVE_MODULE' });
  assert.equal(asked.length, 2);
  return asked[1];
}

test('each target has a package, for the machines that the loader asks it on', () => {
  assert.deepEqual(readdirSync(packages).sort(), [...PLATFORMS.map(triple), 'ferromcp'].sort());
  for (const platform of PLATFORMS) {
    const { name, version, os, cpu, libc, main, files } = read(triple(platform));
    assert.equal(name, askedFor(platform));
    assert.equal(version, manifest.version);
    assert.deepEqual([os, cpu], [[platform.os], [platform.arch]]);
    assert.deepEqual(libc, { gnu: ['glibc'], musl: ['musl'] }[platform.libc]);
    assert.equal(main, `ferromcp.${triple(platform)}.node`);
    assert.deepEqual(files, [main]);
  }
});

test('the main package names all of them, in its own version, and needs nothing else', () => {
  const { optionalDependencies, dependencies, devDependencies, scripts, exports, bin } = read('ferromcp');
  assert.deepEqual(optionalDependencies, Object.fromEntries(PLATFORMS.map((platform) => [askedFor(platform), manifest.version]).sort()));
  assert.deepEqual([dependencies, devDependencies, scripts], [undefined, undefined, undefined]);
  const named = (value) => (typeof value === 'string' ? [value] : Object.values(value).flatMap(named));
  for (const file of [...named(exports), ...named(bin)]) assert.ok(existsSync(join(packages, 'ferromcp', file)), file);
});

test("an installed main package loads the platform's package", () => {
  const name = triple(currentPlatform());
  // Elsewhere: in here the name means this package.
  const folder = mkdtempSync(join(tmpdir(), 'ferromcp-npm-'));
  after(() => rmSync(folder, { recursive: true }));
  const modules = join(folder, 'node_modules');
  cpSync(join(packages, 'ferromcp'), join(modules, 'ferromcp'), { recursive: true });
  const run = () => spawnSync(process.execPath, ['-p', "require('ferromcp').version()"], { cwd: folder, encoding: 'utf8' });
  assert.match(run().stderr, new RegExp(`@ferromcp/node-${name}`));
  cpSync(join(packages, name), join(modules, '@ferromcp', `node-${name}`), { recursive: true });
  assert.equal(run().stdout.trim(), manifest.version);
});

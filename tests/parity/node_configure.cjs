// What the addon says to each of the configurations on standard input, a JSON array of texts; as a JSON array on stdout.
const { native } = require('../../node/dist/loader.cjs');
const { readFileSync } = require('node:fs');

const configs = JSON.parse(readFileSync(0, 'utf8'));
const told = configs.map((config) => new native.NativeServer('').configure(config)?.message ?? null);
console.log(JSON.stringify(told));

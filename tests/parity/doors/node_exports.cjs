// The values that a module exports, as one JSON object on stdout: each name with the members of its prototype.
//
// Usage: node node_exports.cjs FILE
const exported = require(process.argv[2]);
const members = (value) => {
  if (typeof value !== 'function' || value.prototype === undefined) return [];
  return Object.getOwnPropertyNames(value.prototype).filter((name) => name !== 'constructor' && name !== 'name');
};
console.log(JSON.stringify(Object.fromEntries(Object.entries(exported).map(([name, value]) => [name, members(value)]))));

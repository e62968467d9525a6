// What a program with many tools costs the type checker.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const tsc = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url));

/** Checks a program's text; gives the seconds and instantiations that `--extendedDiagnostics` tells, and what was found. */
function check(text) {
  // With `skipLibCheck`, as `tsc --init` has it: what is measured is the program.
  // Here, so that it finds the package and the schema libraries as this folder does.
  const folder = mkdtempSync(fileURLToPath(new URL('types/many-', import.meta.url)));
  try {
    writeFileSync(join(folder, 'program.mts'), text);
    const strict = { module: 'nodenext', target: 'es2022', types: ['node'], strict: true, noEmit: true, skipLibCheck: true };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: strict, include: ['program.mts'] }));
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder, '--extendedDiagnostics'], { encoding: 'utf8' });
    const seconds = Number(/^Total time:\s*([\d.]+)s$/m.exec(stdout)?.[1]);
    const instantiations = Number(/^Instantiations:\s*(\d+)$/m.exec(stdout)?.[1]);
    return { seconds, instantiations, errors: stdout.match(/error TS\d+.*/g) ?? [], stdout };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const LIBRARIES = `
import { z } from 'zod';
import { type } from 'arktype';
`;
const many = (body) => Array.from({ length: 100 }, (_, number) => body(number)).join('\n');
const tools = (body) => `${LIBRARIES}
import { Server } from 'ferromcp';
const server = new Server('many');
${many(body)}
`;

const ARK = `type({ a: 'string', 'b?': 'number', c: { d: 'boolean[]' } })`;
const OUTPUT = 'z.object({ name: z.string(), count: z.number() })';
const zod = (n) => `z.object({
  name: z.string().min(1), count: z.number().int().optional(), kind: z.enum(['a', 'b', 'c${n}']).default('a'),
  tags: z.array(z.string()), place: z.object({ x: z.number(), y: z.number() }).nullable(),
  either: z.union([z.object({ type: z.literal('one'), one: z.string() }), z.object({ type: z.literal('two'), two: z.number() })]),
})`;

test('100 registered tools are checked in under 5 s, and none is too deep', () => {
  const registered = check(
    tools((n) =>
      n % 10 === 9
        ? `server.tool('t${n}', { inputSchema: ${ARK} }, ({ a, b, c }) => a + b + c.d.length);`
        : `server.tool('t${n}', { inputSchema: ${zod(n)}, outputSchema: ${OUTPUT} }, async ({ name, count, place }, context) => {
            context.reportProgress(count ?? 0, place?.x);
            return { name, count: count ?? 0 };
          });`,
    ),
  );
  assert.deepEqual(registered.errors, []);
  assert.ok(registered.seconds < 5, `it took ${registered.seconds} s\n${registered.stdout}`);
  // What the schemas and the handlers cost by themselves.
  const alone = check(
    LIBRARIES +
      many((n) =>
        n % 10 === 9
          ? `{ const s = ${ARK}; ((({ a, b, c }: typeof s.infer) => a + b + c.d.length)); }`
          : `{ const s = ${zod(n)}; ${OUTPUT};
              (async ({ name, count, place }: z.output<typeof s>) => ({ name, count: count ?? 0, x: place?.x })); }`,
      ),
  );
  assert.deepEqual(alone.errors, []);
  const ours = (registered.instantiations - alone.instantiations) / 100;
  assert.ok(ours > 0 && ours < 1_000, `a tool costs ${ours} instantiations of types`);
});

test('a mistake in one of them is found', () => {
  const { errors } = check(
    tools((n) => `server.tool('t${n}', { inputSchema: z.object({ a: z.string() }) }, ({ ${n === 57 ? 'b' : 'a'} }) => 1);`),
  );
  assert.equal(errors.length, 1);
  assert.match(errors[0], /TS2339/);
});

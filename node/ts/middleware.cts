/** What a program puts round the functions of a server: it sees each call and what the function gives, and may change both. */
import type { Context } from './context.cjs';
import { ConfigurationError } from './errors.cjs';
import type { HandlerKind } from './failures.cjs';

/** A call on its way to a function. */
export interface MiddlewareCall {
  /** The request's method. */
  readonly method: string;
  /** What is called: a tool or prompt by its name, a resource by its URI, an argument to complete by `ref/argument`. */
  readonly name: string;
  /** Of a tool or prompt; the variables of a template; the parameters of a method. Not converted by a schema's library yet. */
  readonly arguments: unknown;
  /** All else that is known of the request. */
  readonly context: Context;
}

/**
 * Stands round each call of a function. `next` runs what is further in, once, and gives what the function gave, or throws what it
 * threw. What this returns or throws takes its place.
 */
export type Middleware = (call: MiddlewareCall, next: () => Promise<unknown>) => unknown;

const METHODS: Record<Exclude<HandlerKind, 'method'>, string> = {
  tool: 'tools/call',
  resource: 'resources/read',
  template: 'resources/read',
  prompt: 'prompts/get',
  completion: 'completion/complete',
};

/** `run` within `layers`, the first of them outermost. */
export function within(
  layers: readonly Middleware[],
  kind: HandlerKind,
  name: string,
  args: unknown,
  run: (context: Context) => unknown,
): (context: Context) => unknown {
  if (layers.length === 0) return run;
  const method = kind === 'method' ? name : METHODS[kind];
  return (context) => {
    const call = { method, name, arguments: args, context };
    const enter = async (at: number): Promise<unknown> => {
      const layer = layers[at];
      if (layer === undefined) return run(context);
      let entered = false;
      return layer(call, () => {
        if (entered) throw new ConfigurationError(`${method} '${name}': a middleware runs next() once for each call`);
        entered = true;
        const ran = enter(at + 1);
        // A middleware that does not wait for the function has decided that its end does not matter.
        ran.catch(() => {});
        return ran;
      });
    };
    return enter(0);
  };
}

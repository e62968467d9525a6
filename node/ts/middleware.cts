/** What a program puts round the functions of a server: it sees each call and what the function gives, and may change that. */
import type { Context } from './context.cjs';
import { ConfigurationError } from './errors.cjs';

/**
 * Stands round each call of a function. `next` runs what is further in, once, and gives what the function gave, or throws what it
 * threw. What this returns or throws takes its place.
 */
export type Middleware = (context: Context, next: () => Promise<unknown>) => unknown;

/** `run` within `layers`, the first of them outermost. */
export function within(
  layers: readonly Middleware[],
  run: (context: Context) => unknown,
): (context: Context) => unknown {
  if (layers.length === 0) return run;
  return (context) => {
    const enter = async (at: number): Promise<unknown> => {
      const layer = layers[at];
      if (layer === undefined) return run(context);
      let entered = false;
      return layer(context, () => {
        if (entered) throw new ConfigurationError('a middleware runs next() once for each call');
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

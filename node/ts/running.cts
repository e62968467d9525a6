/** A server at work: finds the function of each call, runs it, and sends what came of it. */
import { InputRequired } from './asking.cjs';
import { Bridge, type Sink } from './bridge.cjs';
import { Context } from './context.cjs';
import type { CompletionHandler, Declared } from './declare.cjs';
import { done } from './errors.cjs';
import { report, sendFailure, sendInvalid, type HandlerKind } from './failures.cjs';
import { revive, stringify, type Integers } from './json.cjs';
import { within, type Middleware } from './middleware.cjs';
import { sendCompletion, sendPrompt, sendResource, sendTool } from './results.cjs';
import { described, type StandardResult, type Validate } from './schema.cjs';

/** A function that serves a whole method. */
export type MethodHandler = (params: Readonly<Record<string, unknown>>, context: Context) => unknown;

/** A function that is told of a notification. */
export type NotificationHandler = (params: Readonly<Record<string, unknown>>) => unknown;

/** The functions of a server that no definition belongs to. */
export interface Functions {
  /** By the prompt's name or the template, a line end, and the argument. */
  readonly completions: ReadonlyMap<string, CompletionHandler>;
  readonly methods: ReadonlyMap<string, MethodHandler>;
  readonly notifications: ReadonlyMap<string, NotificationHandler>;
  /** The outermost first. */
  readonly layers: readonly Middleware[];
}

/** A server from its start to its end. */
export class Running implements Sink {
  readonly bridge: Bridge;
  readonly #integers: Integers;
  readonly #functions: Functions;
  readonly #byTag: Declared[] = [];
  /** Calls whose function has given the event loop back. */
  readonly #contexts = new Map<number, Context>();

  constructor(config: unknown, integers: Integers, functions: Functions) {
    this.bridge = new Bridge(config, this, integers);
    this.#integers = integers;
    this.#functions = functions;
  }

  add(item: Declared): void {
    done(this.bridge.native.add(item.kind, item.definition, this.#byTag.length));
    this.#byTag.push(item);
  }

  call(number: number, tag: number, args: unknown, marked: boolean): void {
    const item = this.#byTag[tag] as Declared;
    if (marked && !this.#revive(number, item.kind, item.key, args)) return;
    this.#serve(number, item, item.key, args);
  }

  read(number: number, tag: number, variables: Record<string, string>, uri: string): void {
    this.#serve(number, this.#byTag[tag] as Declared, uri, variables);
  }

  complete(number: number, tag: number, argument: string, value: string, params: unknown): void {
    const { key } = this.#byTag[tag] as Declared;
    const handler = this.#functions.completions.get(`${key}\n${argument}`);
    if (handler === undefined) return sendCompletion(this.bridge, number, []);
    const { context } = params as { context?: { arguments?: Record<string, string> } };
    const run = (ctx: Context): unknown => handler(value, context?.arguments ?? {}, ctx);
    const name = `${key}/${argument}`;
    this.#run(number, 'completion', name, false, run, (result) => sendCompletion(this.bridge, number, result));
  }

  delegated(number: number, method: string, params: unknown, _id: number | string, marked: boolean): void {
    if (marked && !this.#revive(number, 'method', method, params)) return;
    const handler = this.#functions.methods.get(method) as MethodHandler;
    const run = (context: Context): unknown => handler((params ?? {}) as Record<string, unknown>, context);
    this.#run(number, 'method', method, false, run, (result) => {
      this.bridge.answer(number, 'result', stringify(result ?? {}, 'result'));
    });
  }

  cancelled(number: number, reason: string): void {
    const context = this.#contexts.get(number);
    if (context !== undefined) Context.abort(context, reason);
  }

  notification(method: string, params: unknown): void {
    const handler = this.#functions.notifications.get(method);
    if (handler === undefined) return;
    const told = async (): Promise<unknown> => handler((params ?? {}) as Record<string, unknown>);
    told().catch((error: unknown) => report(`Error in notification '${method}'`, error));
  }

  taskBegun(number: number, id: string | undefined): void {
    const context = this.#contexts.get(number);
    if (context !== undefined) Context.taskBegun(context, id);
  }

  initialized(): void {}

  watched(): void {}

  /** Puts large integers into arguments; false when they are refused, and the call is answered. */
  #revive(number: number, kind: HandlerKind, name: string, args: unknown): boolean {
    try {
      revive(args, this.#integers);
      return true;
    } catch (error) {
      sendInvalid(this.bridge, number, kind, name, (error as Error).message);
      return false;
    }
  }

  #serve(number: number, item: Declared, uri: string, args: unknown): void {
    const { bridge } = this;
    const send = (value: unknown): void => {
      if (item.kind === 'tool') sendTool(bridge, number, value, item.structured);
      else if (item.kind === 'prompt') sendPrompt(bridge, number, value);
      else sendResource(bridge, number, value, uri, item.mimeType);
    };
    const { handler, validate, held } = item;
    const run = validate === undefined ? bare(handler, args) : checked(handler, validate, args);
    this.#run(number, item.kind, item.key, held, run, send);
  }

  #run(
    number: number,
    kind: HandlerKind,
    name: string,
    held: boolean,
    run: Run,
    send: (value: unknown) => void,
  ): void {
    const { bridge } = this;
    const context = new Context(bridge, number, held);
    const end = (value: unknown): void => {
      if (Context.isMoot(context, value)) bridge.answer(number, 'givenUp', '');
      else if (value instanceof InputRequired) bridge.answer(number, 'round', value.text);
      else send(value);
    };
    const fail = (error: unknown): void => {
      if (Context.isMoot(context, error)) bridge.answer(number, 'givenUp', '');
      else if (error instanceof Invalid) sendInvalid(bridge, number, kind, name, error.message);
      else sendFailure(bridge, number, kind, name, error);
    };
    const over = (): void => {
      this.#contexts.delete(number);
      bridge.rounds.ended(number);
    };
    try {
      const value = within(this.#functions.layers, run)(context);
      if (!isThenable(value)) {
        bridge.rounds.ended(number);
        return end(value);
      }
      this.#contexts.set(number, context);
      value
        .then(
          (result) => {
            over();
            end(result);
          },
          (error: unknown) => {
            over();
            fail(error);
          },
        )
        .then(undefined, fail);
    } catch (error) {
      fail(error);
    }
  }
}

type Run = (context: Context) => unknown;

/** A function with its arguments. */
function bare(handler: Declared['handler'], args: unknown): Run {
  return (context) => handler(args as never, context);
}

/** A function whose arguments its schema's library checks and converts first. */
function checked(handler: Declared['handler'], validate: Validate, args: unknown): Run {
  return (context) => {
    const enter = (result: StandardResult<unknown>): unknown => {
      if (result.issues !== undefined) throw new Invalid(described(result.issues));
      return handler(result.value as never, context);
    };
    const result = validate(args);
    return result instanceof Promise ? result.then(enter) : enter(result);
  };
}

/** Arguments that their own schema refuses. */
class Invalid extends Error {}

function isThenable(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

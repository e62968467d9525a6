/**
 * `Engine`: the protocol without input, output, clock and threads, for programs that have a loop of their own.
 *
 * The contract is the Rust engine's: give it what happens, then take outputs with `poll` until there are none, send what is
 * to be sent, answer each call once, and call `handleTimeout` when `pollTimeout` is reached. Time is in milliseconds on a
 * monotonic clock of the caller's, as `performance.now()`.
 */
import { InputRequired, type InputRequest } from './asking.cjs';
import { answerLine, type AnswerKind, type Answers } from './bridge.cjs';
import type { PromptMessage, ResourceContents, ToolResult } from './content.cjs';
import type { Implementation, LogLevel } from './context.cjs';
import { ConfigurationError, done, outgoing, taken, type NoResult, type OutgoingError } from './errors.cjs';
import { integersOption, mark, revive, stringify, type Integers } from './json.cjs';
import { native } from './loader.cjs';
import type { NativeEngine, NativeOutput } from './native.cjs';
import type { Answer } from './rounds.cjs';
import { sendCompletion, sendPrompt, sendResource, sendTool } from './results.cjs';

/** A request that host code has to answer, under its key. */
export interface EngineCall {
  readonly key: number;
  /** The client that asks. */
  readonly stream: number;
  /** What is asked for: a definition that was added, or a whole method that the engine leaves to host code. */
  readonly target: 'tool' | 'resource' | 'template' | 'prompt' | 'completion' | 'delegated';
  /** The definition's tag; undefined where the target is `delegated`. */
  readonly tag?: number;
  /** Of a tool or a prompt. */
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** Of a template: what the URI gives its variables. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Of a completion: the argument's name, and what was typed of it. */
  readonly argument?: string;
  readonly value?: string;
  readonly requestId: number | bigint | string;
  readonly method: string;
  /** The revision in force for this request. */
  readonly protocolVersion: string;
  readonly params: Readonly<Record<string, unknown>> | null;
  readonly meta: Readonly<Record<string, unknown>> | null;
  readonly clientInfo: Implementation | null;
  readonly clientCapabilities: Readonly<Record<string, unknown>>;
  /** What the client has answered to a round by hand, by key; null in the first call. */
  readonly inputResponses: Readonly<Record<string, unknown>> | null;
  /** The state of that round. */
  readonly requestState: string | null;
}

/** A request to the client of a call. Without a key the order of asking tells it from others. */
export interface EngineInputRequest extends Pick<InputRequest, 'method'> {
  readonly key?: string;
  /** In the newest revision's form. */
  readonly params?: object;
}

/** What has come of a question. */
export type EngineAsked =
  /** It was answered in an earlier round: the results in the order asked. */
  | { readonly outcome: 'answered'; readonly results: readonly unknown[] }
  /** The answers come as an output `answers` with this number. */
  | { readonly outcome: 'waiting'; readonly ask: number }
  /** The client is asked, and this run of the call is over: nothing that host code still says is used. */
  | { readonly outcome: 'suspended' };

/** An answer of a client's, or why there is none. */
export type EngineAnswer = { readonly result: unknown } | { readonly error: OutgoingError };

/** What is to be done or known, in order. */
export type EngineOutput =
  /** Send these bytes to the client: whole lines. */
  | { readonly event: 'transmit'; readonly stream: number; readonly bytes: Uint8Array }
  /** Answer this, now or later. */
  | { readonly event: 'call'; readonly call: EngineCall }
  /** Nobody waits for the answer any more. */
  | { readonly event: 'cancelled'; readonly key: number; readonly reason: string }
  /** A notification that the engine has no use for. */
  | { readonly event: 'notification'; readonly stream: number; readonly method: string; readonly params: unknown }
  /** The end of a request of ours. */
  | { readonly event: 'response'; readonly request: number; readonly result: unknown }
  | { readonly event: 'response'; readonly request: number; readonly error: OutgoingError }
  /** What a call has asked is answered, in the order asked. */
  | { readonly event: 'answers'; readonly ask: number; readonly call: number; readonly answers: readonly EngineAnswer[] }
  /** A call that `beginTask` was asked for is a task, of this id, or goes on without. */
  | { readonly event: 'taskBegun'; readonly call: number; readonly id: string | undefined }
  /** A legacy client is ready. */
  | { readonly event: 'initialized'; readonly stream: number }
  /** The client's first watcher of a resource is there, or its last one is gone. */
  | { readonly event: 'subscribed' | 'unsubscribed'; readonly stream: number; readonly uri: string }
  /** Something that is worth a line in a log and changes nothing. */
  | { readonly event: 'diagnostic'; readonly stream: number | undefined; readonly kind: string; readonly text: string }
  /** After the end of input: everything is answered or given up. */
  | { readonly event: 'drained'; readonly stream: number };

/** What can be added. */
export type DefinitionKind = 'tool' | 'resource' | 'template' | 'prompt';

/** How values cross. */
export interface EngineOptions {
  /** What integers beyond 2^53 become; `bigint` when it is not given. */
  readonly integers?: Exclude<Integers, 'error'>;
}

/** An MCP server for any number of clients, driven by the program. */
export class Engine {
  readonly #native: NativeEngine;
  readonly #integers: Integers;

  /**
   * @param config the engine's configuration: `info` with name and version, and what `docs/node.md` names besides
   * @throws ConfigurationError
   */
  constructor(config: Readonly<Record<string, unknown>>, options: EngineOptions = {}) {
    this.#integers = integersOption(options.integers);
    // A call that could not be taken out could not be answered either.
    if (this.#integers === 'error') throw new ConfigurationError("integers: an Engine takes 'bigint' and 'string'");
    this.#native = new native.NativeEngine(mark);
    done(this.#native.configure(stringify(config, 'config')));
  }

  /**
   * Says what the time 0 is in UNIX milliseconds, as `performance.timeOrigin`: for how long a client that is asked may take,
   * where several processes share the state keys.
   */
  setEpoch(unixMs: number): void {
    done(this.#native.setEpoch(unixMs));
  }

  /** Takes new keys for what goes through modern clients that are asked; see `Server.setStateKeys`. Base64 texts. */
  setStateKeys(keys: readonly string[]): void {
    done(this.#native.setStateKeys([...keys]));
  }

  /** Says who is behind a stream, as far as it was verified; what was given to one principal is not taken from another. */
  setPrincipal(stream: number, principal: string | undefined): void {
    done(this.#native.setPrincipal(stream, principal));
  }

  /**
   * Serves a definition as the newest revision writes it. `tag` is a number of the caller's that calls of it come with.
   *
   * @throws ConfigurationError naming the definition and what is wrong
   */
  add(kind: DefinitionKind, definition: object, tag: number, now: number): void {
    if (!(Number.isInteger(tag) && tag >= 0 && tag < 2 ** 32)) {
      throw new ConfigurationError(`tag: ${tag} is no whole number from 0 to 2^32 - 1`);
    }
    done(this.#native.add(kind, stringify(definition, 'definition'), tag, now));
  }

  /** Stops serving what has this name, URI or URI template; false when there is none. Calls of it that run go on. */
  remove(kind: DefinitionKind, key: string, now: number): boolean {
    return taken(this.#native.remove(kind, key, now));
  }

  /** Shows to clients, or hides, what has this name, URI or URI template; false when there is none. Calls that run go on. */
  enable(kind: DefinitionKind, key: string, enabled: boolean, now: number): boolean {
    return taken(this.#native.enable(kind, key, enabled, now));
  }

  /** A client is there; gives its stream. */
  open(now: number): number {
    return taken(this.#native.open(now));
  }

  /** Bytes of a client's, or their text, cut anywhere. What the client does wrong is answered to the client. */
  receive(stream: number, bytes: string | Uint8Array, now: number): void {
    done(this.#native.receive(stream, bytes, now));
  }

  /** The client sends no more. `drained` tells when everything is answered or given up. */
  endOfInput(stream: number, now: number): void {
    done(this.#native.endOfInput(stream, now));
  }

  /** Nothing can be sent to the client any more: the stream is forgotten. */
  close(stream: number, now: number): void {
    done(this.#native.close(stream, now));
  }

  /** Ends every subscription and refuses new requests. Calls that run may still be answered. */
  shutdown(now: number): void {
    done(this.#native.shutdown(now));
  }

  /** What is to be done next; undefined when there is nothing until the next input, command or deadline. */
  poll(): EngineOutput | undefined {
    const output = this.#native.poll();
    return output === null ? undefined : this.#shown(output);
  }

  /** When `handleTimeout` wants to be called if nothing happens before; undefined: never. */
  pollTimeout(): number | undefined {
    return this.#native.pollTimeout() ?? undefined;
  }

  /** Does what is due. Calling it early or late does no harm. */
  handleTimeout(now: number): void {
    done(this.#native.handleTimeout(now));
  }

  // Answers. Each gives false, and nothing is sent, when nobody waits for the answer any more.

  /** For `tools/call`: one block of text. */
  respondText(key: number, text: string, isError = false): boolean {
    return this.#reply(key, isError ? 'textError' : 'text', text);
  }

  /** For `tools/call`. */
  respondTool(key: number, result: ToolResult): boolean {
    return this.#answer((answers) => sendTool(answers, key, result, false));
  }

  /** For `resources/read`. */
  respondContents(key: number, contents: readonly ResourceContents[]): boolean {
    return this.#answer((answers) => sendResource(answers, key, { contents }, '', undefined));
  }

  /** For `prompts/get`. */
  respondPrompt(key: number, messages: readonly PromptMessage[], description?: string): boolean {
    return this.#answer((answers) => sendPrompt(answers, key, { description, messages }));
  }

  /** For `completion/complete`. */
  respondCompletion(key: number, values: readonly string[], total?: number, hasMore?: boolean): boolean {
    return this.#answer((answers) => sendCompletion(answers, key, { values, total, hasMore }));
  }

  /**
   * For `tools/call`, `resources/read` and `prompts/get`: asks the client first. It is called again then, with
   * `inputResponses` and `requestState`.
   */
  respondInputRequired(
    key: number,
    requests: Readonly<Record<string, Pick<InputRequest, 'method' | 'params'>>>,
    state?: string,
  ): boolean {
    return taken(this.#native.reply(answerLine(key, 'round', new InputRequired(requests, state).text), []));
  }

  /** For any method: the whole result object. */
  respondResult(key: number, result: object): boolean {
    return this.#reply(key, 'result', result);
  }

  /** A JSON-RPC error. */
  fail(key: number, code: number, message: string, data?: unknown): boolean {
    return this.#reply(key, 'failed', { code, message, data });
  }

  /** The client would have to declare this capability, such as `elicitation.url`; the engine says it as its revision does. */
  failCapability(key: number, capability: string): boolean {
    return this.#reply(key, 'missingCapability', capability);
  }

  /** There is nothing under the URI that was asked for; the engine picks the code of the client's revision. */
  failNotFound(key: number): boolean {
    return this.#reply(key, 'unknownResource', '');
  }

  // What may come before an answer, or belongs to none. Each gives whether it was sent.

  /** How far a call is, out of `total`. */
  progress(key: number, progress: number, total?: number, message?: string): boolean {
    return taken(this.#native.progress(key, progress, total, message));
  }

  /** A log message that belongs to a call. `data` is any JSON value. */
  log(key: number, level: LogLevel, data: unknown, logger?: string): boolean {
    return taken(this.#native.log(key, level, stringify(data, 'data'), logger));
  }

  /** A log message that belongs to no call; only legacy clients can get one. */
  logStream(stream: number, level: LogLevel, data: unknown, logger?: string): boolean {
    return taken(this.#native.logStream(stream, level, stringify(data, 'data'), logger));
  }

  /** A notification that belongs to a call. */
  notify(key: number, method: string, params?: object): boolean {
    return taken(this.#native.notify(key, method, optional(params)));
  }

  /** A notification that belongs to no call; only legacy clients can get one. */
  notifyStream(stream: number, method: string, params?: object): boolean {
    return taken(this.#native.notifyStream(stream, method, optional(params)));
  }

  /**
   * Turns a call into a task; a `taskBegun` tells what has come of it. False, and nothing comes: its client takes none, or the
   * call is over. Tasks are kept in memory, as long as the engine is.
   */
  beginTask(key: number): boolean {
    return taken(this.#native.beginTask(key));
  }

  /** The id of the task that a call is; undefined where it is none. */
  taskId(key: number): string | undefined {
    return this.#native.taskId(key) ?? undefined;
  }

  /**
   * Asks the client of a call: a legacy one by requests, a modern one by the answer to its request. For that one `held` says that
   * the call waits here; else its run is over (`suspended`), and when the client has answered there is another `call`.
   *
   * @throws CapabilityNotDeclared, NoBackChannel, ConfigurationError for what the specification does not allow
   */
  ask(
    key: number,
    requests: readonly EngineInputRequest[],
    options: { readonly held?: boolean; readonly timeoutMs?: number } = {},
  ): EngineAsked {
    const questions = requests.map(({ key: name = '', method, params = {} }) => {
      return `[${JSON.stringify(name)},${JSON.stringify(method)},${stringify(params, 'params')}]`;
    });
    const { held = false, timeoutMs } = options;
    const asked = this.#parsed(taken<string>(this.#native.ask(key, `[${questions.join(',')}]`, held, timeoutMs)));
    const [kind, value] = asked as [0, unknown[]] | [1, number] | [2, undefined?];
    if (kind === 0) return { outcome: 'answered', results: value };
    return kind === 1 ? { outcome: 'waiting', ask: value } : { outcome: 'suspended' };
  }

  /**
   * Asks a legacy client something; gives the number that a `response` will have. `related`: the call that needs it.
   *
   * @throws NoBackChannel where the client takes no requests
   */
  request(
    stream: number,
    method: string,
    params?: object,
    options: { readonly related?: number; readonly timeoutMs?: number } = {},
  ): number {
    return taken<number>(this.#native.request(stream, options.related, method, optional(params), options.timeoutMs));
  }

  /** Gives up a request; false when it is answered already. */
  abandon(request: number, reason?: string): boolean {
    return taken(this.#native.abandon(request, reason));
  }

  /** Tells whoever asked for it that a list has changed. `add` and `remove` do so themselves. */
  notifyChanged(list: 'tools' | 'prompts' | 'resources'): void {
    done(this.#native.notifyChanged(list));
  }

  /** Tells the watchers of a resource that it has changed. */
  resourceUpdated(uri: string): void {
    done(this.#native.resourceUpdated(uri));
  }

  /**
   * Tells the client that was asked for a visit to a URL under this `elicitationId`, by a question or by an error -32042, that
   * the visit is complete (2025-11-25 `client/elicitation`, "Completion Notifications for URL Mode Elicitation"). The call that
   * asked may be over. False: no client was asked under it, or it was told before; a modern client is never told.
   */
  completeElicitation(elicitationId: string): boolean {
    return taken(this.#native.completeElicitation(elicitationId));
  }

  #reply(key: number, kind: AnswerKind, value: unknown): boolean {
    return taken(this.#native.reply(answerLine(key, kind, stringify(value, 'result')), []));
  }

  #answer(send: (answers: Answers) => void): boolean {
    let sent = false;
    const answerWith = (key: number, kind: AnswerKind, json: string, bytes: Uint8Array[]): void => {
      sent = taken(this.#native.reply(answerLine(key, kind, json), bytes));
    };
    send({ answerWith, answer: (key, kind, json) => answerWith(key, kind, json, []) });
    return sent;
  }

  #parsed(json: string | undefined): unknown {
    return json === undefined ? undefined : revive(JSON.parse(json), this.#integers);
  }

  #shown(output: NativeOutput): EngineOutput {
    const { event, stream = 0, key = 0, bytes, text = '', json, kind = '', code } = output;
    switch (event) {
      case 'transmit':
        return { event, stream, bytes: bytes as Uint8Array };
      case 'call':
        return { event, call: this.#parsed(json) as EngineCall };
      case 'cancelled':
        return { event, key, reason: text };
      case 'notification':
        return { event, stream, method: text, params: this.#parsed(json) };
      case 'response': {
        if (kind === '') return { event, request: key, result: this.#parsed(json) };
        const why = kind === 'error' ? (code as number) : (kind as NoResult);
        return { event, request: key, error: outgoing(why, text, this.#parsed(json)) };
      }
      case 'answers': {
        const shown = (answer: Answer): EngineAnswer => {
          return answer.length === 1 ? { result: answer[0] } : { error: outgoing(answer[0], answer[1], answer[2]) };
        };
        return { event, ask: output.ask ?? 0, call: key, answers: (this.#parsed(json) as Answer[]).map(shown) };
      }
      case 'taskBegun':
        return { event, call: key, id: output.text };
      case 'subscribed':
      case 'unsubscribed':
        return { event, stream, uri: text };
      case 'diagnostic':
        return { event, stream: output.stream, kind, text };
      case 'initialized':
      case 'drained':
        return { event, stream };
    }
  }
}

function optional(params: object | undefined): string | undefined {
  return params === undefined ? undefined : stringify(params, 'params');
}

// Written by the build from node/src; `make stubs` checks it in. Change the Rust files, not this one.

/** One engine, for any number of clients. */
export declare class NativeEngine {
  /** `mark` as for `NativeServer`. */
  constructor(mark: string)
  /** Takes the JSON text of the engine's configuration. Before anything else. */
  configure(config: string): NativeFailure | null
  /** Says what the time 0 is in UNIX milliseconds. */
  setEpoch(unixMs: number): NativeFailure | null
  /** As `NativeServer.setStateKeys`. */
  setStateKeys(keys: Array<string>): NativeFailure | null
  /** Says who is behind a stream, as far as it was verified. */
  setPrincipal(stream: number, principal?: string | undefined | null): NativeFailure | null
  /** Serves what the JSON text `definition` says; calls of it come with `tag`. */
  add(kind: 'tool' | 'resource' | 'template' | 'prompt', definition: string, tag: number, now: number): NativeFailure | null
  /** Stops serving; false when there is nothing of this name or URI. */
  remove(kind: 'tool' | 'resource' | 'template' | 'prompt', key: string, now: number): boolean | NativeFailure
  /** As `NativeServer.enable`. */
  enable(kind: 'tool' | 'resource' | 'template' | 'prompt', key: string, enabled: boolean, now: number): boolean | NativeFailure
  /** A client is there: gives its stream. */
  open(now: number): number | NativeFailure
  /** Bytes of a client's, cut anywhere. */
  receive(stream: number, bytes: string | Uint8Array, now: number): NativeFailure | null
  /** The client sends no more. */
  endOfInput(stream: number, now: number): NativeFailure | null
  /** Nothing can be sent to the client any more. */
  close(stream: number, now: number): NativeFailure | null
  /** Ends every subscription and refuses new requests. */
  shutdown(now: number): NativeFailure | null
  /** Does what is due. */
  handleTimeout(now: number): NativeFailure | null
  /** When `handle_timeout` wants to be called, if nothing else happens before. */
  pollTimeout(): number | null
  /** What is to be done next; null when there is nothing. */
  poll(): NativeOutput | null
  /** Answers a call with a line, as `NativeServer.replyWith` takes them; false when nobody waits for it any more. */
  reply(line: string, bytes: Array<Uint8Array>): boolean | NativeFailure
  /** As `NativeServer.progress`, and so are the others. */
  progress(call: number, progress: number, total?: number | undefined | null, message?: string | undefined | null): boolean | NativeFailure
  /** A log message that belongs to a call. */
  log(call: number, level: string, data: string, logger?: string | undefined | null): boolean | NativeFailure
  /** A log message that belongs to no call. */
  logStream(stream: number, level: string, data: string, logger?: string | undefined | null): boolean | NativeFailure
  /** A notification that belongs to a call. */
  notify(call: number, method: string, params?: string | undefined | null): boolean | NativeFailure
  /** A notification that belongs to no call. */
  notifyStream(stream: number, method: string, params?: string | undefined | null): boolean | NativeFailure
  /** Turns a call into a task; an output `taskBegun` tells what has come of it, unless this gives false. */
  beginTask(call: number): boolean | NativeFailure
  /** The id of the task that a call is; null when it is none. */
  taskId(call: number): string | null
  /**
   * Asks the client of a call. `questions` is the text of a JSON array of key, method and parameters; what comes back is a
   * JSON array as `asking.rs` says.
   */
  ask(call: number, questions: string, held: boolean, timeoutMs?: number | undefined | null): string | NativeFailure
  /** Asks a legacy client something; gives the number that its answer comes under. */
  request(stream: number, call: number | undefined | null, method: string, params?: string | undefined | null, timeoutMs?: number | undefined | null): number | NativeFailure
  /** Gives up a request to a client. */
  abandon(request: number, reason?: string | undefined | null): boolean | NativeFailure
  /** Tells whoever asked for it that a list has changed. */
  notifyChanged(list: 'tools' | 'prompts' | 'resources'): NativeFailure | null
  /** Tells the watchers of a resource that it has changed. */
  resourceUpdated(uri: string): NativeFailure | null
  /** Tells the client that was asked for a visit to a URL that it is complete. */
  completeElicitation(elicitationId: string): boolean | NativeFailure
}

/** A request whose head is as it must be. */
export declare class NativeRequest {
  /** Bytes that the body may have; null where none is to be read. */
  limit(): number | null
  /** The response to a body that is longer. */
  tooLarge(): NativePart
  /** Serves the request, once, with its whole body. */
  serve(body: Uint8Array): NativeFailure | null
  /** The next piece of the response; null when there is none yet: the bridge says when there is. */
  poll(): NativePart | null
  /** The client is gone, or all is sent. */
  close(): void
}

/** One MCP server. */
export declare class NativeServer {
  /**
   * `mark` is a text that no peer can know. It stands in front of what is passed as a string and is something else:
   * large integers on their way in, bytes on their way out. Where it is empty nothing is marked.
   */
  constructor(mark: string)
  /** Takes the JSON text of the engine's configuration. Before anything else. */
  configure(config: string): NativeFailure | null
  /** Serves what the JSON text `definition` says; calls of it come with `tag`. */
  add(kind: 'tool' | 'resource' | 'template' | 'prompt', definition: string, tag: number): NativeFailure | null
  /** Stops serving; false when there is nothing of this name or URI. */
  remove(kind: 'tool' | 'resource' | 'template' | 'prompt', key: string): boolean | NativeFailure
  /** Shows to clients, or hides, what is served; false when there is nothing of this name or URI. */
  enable(kind: 'tool' | 'resource' | 'template' | 'prompt', key: string, enabled: boolean): boolean | NativeFailure
  /**
   * Starts to serve, on standard input and output unless other descriptors are given. `wake` is called on
   * JavaScript's thread whenever `drain` has something, and keeps the event loop alive until the server is over, unless
   * requests are brought by a listener of JavaScript's own.
   */
  start(wake: () => void, options: NativeStart): NativeFailure | null
  /** What is listened on, as host and port; null where nothing is. */
  address(): Array<string> | null
  /** Lets clients use one more name or address as `Host`: one that JavaScript's own listener listens on. */
  allowHost(host: string): void
  /**
   * Looks at the head of a request that JavaScript's own listener has read: `headers` are names and values in turn, `number`
   * is what the bridge says when there is more of the response. Gives the request, or the response.
   */
  admit(number: number, method: string, target: string, headers: Array<string>, principal?: string | undefined | null): NativeRequest | NativePart
  /** All that has gathered since the last time: the text of a JSON array, an entry for each. */
  drain(): string
  /** Answers calls: a line for each, a letter and the call's number, a blank, and JSON text. */
  reply(batch: string): NativeFailure | null
  /** Answers one call with bytes, whose places in the text are marked. */
  replyWith(line: string, bytes: Array<Uint8Array>): NativeFailure | null
  /** Whether nobody waits for the answer of a call any more; true also when it is answered. */
  isCancelled(call: number): boolean
  /** Why nobody waits for the answer of a call any more; null while somebody does, and when it is answered. */
  cancelReason(call: number): string | null
  /**
   * Turns a call into a task; whether it is one is told later, unless this gives false: its client takes none, or the call
   * is over.
   */
  beginTask(call: number): boolean | NativeFailure
  /** Who is behind an open call, as far as that was verified. */
  principal(call: number): string | null
  /** Ends the connection of a call's stream, and not the call; false where its client has no stream that it could come back to. */
  closeSseStream(call: number): boolean | NativeFailure
  /** The id of the task that an open call is; null when it is none. */
  taskId(call: number): string | null
  /** What is known of an open call, as the text of a JSON object, large integers marked; null when it is answered. */
  describe(call: number): string | null
  /** Reports progress of a call; false when the client did not ask for it, or the call is over. */
  progress(call: number, progress: number, total?: number | undefined | null, message?: string | undefined | null): boolean | NativeFailure
  /** Sends a log message that belongs to a call; `data` is JSON text. */
  log(call: number, level: string, data: string, logger?: string | undefined | null): boolean | NativeFailure
  /** Sends a log message that belongs to no call; only legacy clients can get one. */
  logStream(level: string, data: string, logger?: string | undefined | null): boolean | NativeFailure
  /** Sends a notification that belongs to a call; `params` is JSON text. */
  notify(call: number, method: string, params?: string | undefined | null): boolean | NativeFailure
  /** Sends a notification that belongs to no call; only legacy clients can get one. */
  notifyStream(method: string, params?: string | undefined | null): boolean | NativeFailure
  /**
   * Asks the clients of calls, as the text of a JSON array says, an entry for each call; gives what has come of each, in
   * the same order. `asking.rs` says what the entries are.
   */
  ask(batch: string): string | NativeFailure
  /** Takes new keys for `requestState`, each 32 bytes in base64: the first seals, all of them open. */
  setStateKeys(keys: Array<string>): NativeFailure | null
  /**
   * Asks a legacy client something; gives the number that its answer comes under. Without a call there has to be one client
   * alone. Without `timeout_ms` the limit of
   * the configuration holds.
   */
  request(call: number | undefined | null, method: string, params?: string | undefined | null, timeoutMs?: number | undefined | null): number | NativeFailure
  /** Gives up a request to the client. */
  abandon(request: number, reason?: string | undefined | null): boolean | NativeFailure
  /** Tells whoever asked for it that a list has changed. */
  notifyChanged(list: 'tools' | 'prompts' | 'resources'): NativeFailure | null
  /** Tells the watchers of a resource that it has changed. */
  resourceUpdated(uri: string): NativeFailure | null
  /** Tells the client that was asked for a visit to a URL that it is complete. */
  completeElicitation(elicitationId: string): boolean | NativeFailure
  /**
   * Leaves the JSON text of the result that requests of `method` (under `revision`, where one is given) are answered with
   * while a function holds JavaScript's thread; without a text there is none.
   */
  standIn(method: string, revision?: string | undefined | null, result?: string | undefined | null): void
  /** Begins to end the server in good order. */
  stop(): NativeFailure | null
  /** From now on these signals (`SIGTERM`, `SIGINT`, `SIGHUP`) end this server, whatever JavaScript's thread is doing. */
  endOnSignals(names: Array<string>): NativeFailure | null
  /** What the process is to end with: 0, 1 where the server failed, or 128 and a signal's number. */
  exitCode(): number
  /** JavaScript has seen that the server is over: lets the event loop go. */
  acknowledge(): void
}

/** The extension that a server with pages declares. */
export declare function appExtension(): string

/** A tool's `_meta` that points at a page, made of another one: JSON text of objects. */
export declare function appToolMeta(uri: string, meta: string): string | NativeFailure

/**
 * A page, as the text of a JSON array of two: its `Resource`, and the contents that reading it gives. `ui` is the JSON text of an
 * object.
 */
export declare function appView(uri: string, name: string, html: string, ui?: string | undefined | null): string | NativeFailure

/** Why the JSON text `config` of what is served over HTTP can't be; null where it can. */
export declare function checkHttp(config: string): NativeFailure | null

/** The numbers of error codes, which the engine knows. */
export declare function errorCodes(): ErrorCodes

/** The error codes that the facade has a use for. */
export interface ErrorCodes {
  /** The parameters are wrong. */
  invalidParams: number
  /** The server could not do its work. */
  internalError: number
  /** The newest of those that JSON-RPC leaves to implementations; SDKs say with it that a connection is closed. */
  connectionClosed: number
}

/** The revisions of the legacy era, oldest first. */
export declare function legacyRevisions(): Array<string>

/** What the peer did wrong, and what it should be told. */
export interface NativeError {
  /** The JSON-RPC error code. */
  code: number
  /** One plain sentence. */
  message: string
  /** JSON text of the error's data. */
  data?: string
  /** JSON text of the id that the peer can be answered under. */
  id?: string
}

/** Why the native module could not do what it was asked for. */
export interface NativeFailure {
  /** Which class it becomes. */
  kind: 'configuration' | 'noBackChannel' | 'capabilityNotDeclared' | 'serialization' | 'taskStore' | 'system'
  /** One plain sentence. */
  message: string
  /** The capability that the client has not declared, where it is that. */
  capability?: string
}

/** The parts of one message. Ids, parameters, results and errors are JSON text as the peer wrote them. */
export interface NativeMessage {
  /** What it is. */
  kind: 'request' | 'notification' | 'response'
  /** The id, byte for byte: a string with its quotes, or an integer of any size. */
  id?: string
  /** The method, decoded. */
  method?: string
  /** The parameters. */
  params?: string
  /** A response's result. */
  result?: string
  /** A response's error object. */
  error?: string
}

/** What the engine wants done, or tells. Which fields it has follows from `event`. */
export interface NativeOutput {
  /** What it is. */
  event: 'transmit' | 'call' | 'cancelled' | 'notification' | 'response' | 'answers' | 'taskBegun' | 'initialized' | 'subscribed' | 'unsubscribed' | 'diagnostic' | 'drained'
  /** The client. */
  stream?: number
  /** A call, or a request of ours. */
  key?: number
  /** Questions that were asked together. */
  ask?: number
  /** What is to be sent. */
  bytes?: Uint8Array
  /** A method, a resource's URI, a task's id, why a call was cancelled, what an error says, or a line for a log. */
  text?: string
  /** JSON text: what is known of a call, a notification's parameters, a result, or an error's data. */
  json?: string
  /**
   * The kind of a diagnostic, or why a request of ours has no result: `error`, `invalid`, `timedOut`,
   * `closed`.
   */
  kind?: string
  /** The code of an error. */
  code?: number
}

/** Either a message or the fault that it has. */
export interface NativeParsed {
  /** The message. */
  message?: NativeMessage
  /** Why there is none. */
  fault?: NativeError
}

/** A piece of a response. With a status it is the first; with `end` the last. */
export interface NativePart {
  /** The status code. */
  status?: number
  /** Names and values of the header fields, in turn. */
  headers?: Array<string>
  /** More of the body. */
  body?: Uint8Array
  /** Nothing follows. */
  end: boolean
  /** The response was given up: its connection should be broken off. */
  aborted: boolean
}

/** How a server is started. */
export interface NativeStart {
  /** Whether every message is written to stderr; the environment variable MCP_DEBUG decides when it is not given. */
  debug?: boolean
  /** Where tasks are kept: `memory`, or a URL as `docs/tasks.md` has them. In memory when it is not given. */
  taskStore?: string
  /** The JSON text of a policy. */
  policy?: string
  /** A descriptor to read in place of standard input. It is the server's from now on. */
  input?: number
  /** A descriptor to write in place of standard output. It is the server's from now on. */
  output?: number
  /** The JSON text of a listener's options (`docs/http.md`): serves over HTTP. */
  http?: string
  /** The JSON text of what is served over HTTP by a listener of JavaScript's own, which brings requests with `admit`. */
  carried?: string
  /** Milliseconds in which the end must be acknowledged; then the process is ended by force. */
  graceMs?: number
}

/** Reads exactly one JSON-RPC message. */
export declare function parseMessage(text: string | Uint8Array): NativeParsed

/** The version of the addon. */
export declare function version(): string

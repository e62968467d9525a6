// Written by the build from node/src; `make stubs` checks it in. Change the Rust files, not this one.

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

/** Either a message or the fault that it has. */
export interface NativeParsed {
  /** The message. */
  message?: NativeMessage
  /** Why there is none. */
  fault?: NativeError
}

/** Reads exactly one JSON-RPC message. */
export declare function parseMessage(text: string | Uint8Array): NativeParsed

/** The version of the addon. */
export declare function version(): string

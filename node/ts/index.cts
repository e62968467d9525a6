/** The package's objects: the engine's answers turned into JavaScript's own manners. No protocol rule lives here. */
export { accelerate, type AccelerateOptions } from './accelerate.cjs';
export { AppView, type AppViewOptions } from './apps.cjs';
export {
  elicit,
  elicitUrl,
  InputRequired,
  listRoots,
  sample,
  type AnswersOf,
  type AskOptions,
  type ElicitResult,
  type ElicitUrlResult,
  type InputRequest,
  type ModelPreferences,
  type Root,
  type SampleParams,
  type SampleResult,
  type SamplingContent,
  type SamplingMessage,
  type ToolResultContent,
  type ToolUseContent,
} from './asking.cjs';
export { audio, image, text } from './content.cjs';
export type * from './content.cjs';
export { Context, type Implementation, type LogLevel, type TraceContext } from './context.cjs';
export type {
  Arguments,
  CompletionHandler,
  Icon,
  PromptArgument,
  PromptArguments,
  PromptHandler,
  PromptInput,
  PromptOptions,
  PromptValue,
  Reentry,
  ResourceHandler,
  ResourceOptions,
  ResourceValue,
  TaskSupport,
  ToolAnnotations,
  ToolHandler,
  ToolOptions,
  VariablesOf,
} from './declare.cjs';
export {
  Engine,
  type DefinitionKind,
  type EngineAnswer,
  type EngineAsked,
  type EngineCall,
  type EngineInputRequest,
  type EngineOptions,
  type EngineOutput,
} from './engine.cjs';
export {
  CapabilityNotDeclared,
  ConfigurationError,
  FerroMCPError,
  InvalidAnswer,
  MCPError,
  NativeModuleError,
  NoBackChannel,
  ResourceNotFound,
  SerializationError,
  SystemError,
  TaskStoreError,
  TimedOut,
  ToolError,
  type ErrorOptions,
  type OutgoingError,
} from './errors.cjs';
export {
  toFetchHandler,
  toNodeHandler,
  type FetchHandler,
  type FetchHandlerOptions,
  type NodeHandler,
  type NodeHandlerOptions,
} from './handlers.cjs';
export { HttpServer, type HttpConfig, type HttpOptions } from './http.cjs';
export { Json, type Integers } from './json.cjs';
export type { ServeOptions } from './lifetime.cjs';
export type { Middleware } from './middleware.cjs';
export { parseMessage } from './message.cjs';
export type { Message, NotificationMessage, RequestMessage, ResponseMessage } from './message.cjs';
export type { AnySchema, JsonSchema, OutputOf, ShownSchema, StandardSchema } from './schema.cjs';
export { serve, type ServableOptions } from './serve.cjs';
export type { MethodHandler, NotificationHandler } from './running.cjs';
export { Server, type CarrierOptions, type ListenOptions, type RunOptions, type ServerOptions } from './server.cjs';
export { version } from './version.cjs';

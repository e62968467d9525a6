/** The package's objects: the engine's answers turned into JavaScript's own manners. No protocol rule lives here. */
export { accelerate, type AccelerateOptions } from './accelerate.cjs';
export { audio, image, text } from './content.cjs';
export type * from './content.cjs';
export { Context, type Implementation, type LogLevel } from './context.cjs';
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
  ResourceHandler,
  ResourceOptions,
  ResourceValue,
  ToolAnnotations,
  ToolHandler,
  ToolOptions,
  VariablesOf,
} from './declare.cjs';
export {
  Engine,
  type DefinitionKind,
  type EngineCall,
  type EngineOptions,
  type EngineOutput,
} from './engine.cjs';
export {
  CapabilityNotDeclared,
  ConfigurationError,
  FerroMCPError,
  MCPError,
  NativeModuleError,
  NoBackChannel,
  ResourceNotFound,
  SerializationError,
  SystemError,
  TimedOut,
  ToolError,
  type ErrorOptions,
} from './errors.cjs';
export { Json, type Integers } from './json.cjs';
export type { ServeOptions } from './lifetime.cjs';
export { parseMessage } from './message.cjs';
export type { Message, NotificationMessage, RequestMessage, ResponseMessage } from './message.cjs';
export type { AnySchema, JsonSchema, OutputOf, ShownSchema, StandardSchema } from './schema.cjs';
export { serve, type ServableOptions } from './serve.cjs';
export { Server, type MethodHandler, type ServerOptions } from './server.cjs';
export { version } from './version.cjs';

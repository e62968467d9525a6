/**
 * The ES module entry. The objects are those of the CommonJS entry, so that a program that meets both has one set of
 * classes: `instanceof` holds wherever an error was made.
 */
export {
  accelerate,
  audio,
  CapabilityNotDeclared,
  ConfigurationError,
  Context,
  elicit,
  elicitUrl,
  Engine,
  FerroMCPError,
  image,
  InputRequired,
  InvalidAnswer,
  Json,
  listRoots,
  MCPError,
  NativeModuleError,
  NoBackChannel,
  parseMessage,
  ResourceNotFound,
  sample,
  SerializationError,
  serve,
  Server,
  SystemError,
  text,
  TimedOut,
  ToolError,
  version,
} from './index.cjs';
export type * from './index.cjs';

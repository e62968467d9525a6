/*
 * FerroMCP: the Model Context Protocol for C and C++.
 *
 * These conventions hold for every function; a comment at a function says only what is special to it.
 *
 * Names. fmcp_<type>_<verb> for functions, FMCP_<NAME> for constants and macros.
 *
 * Ownership. An object is a pointer to a struct that you never look into. Whoever receives one through an `out` or `err`
 * parameter owns it and gives it back once, to fmcp_<type>_free. Freeing NULL does nothing. Nothing that you pass in is kept
 * after the call returns, but for functions and user data of handlers.
 *
 * Text. Strings go both ways as an fmcp_text, a pointer with a length, in UTF-8. fmcp_text_of("...") makes one of a
 * zero-terminated string. data == NULL means that there is no text: where a parameter may be "none", pass FMCP_NONE. A text
 * from the library points into the object that it was asked from and is valid until that object is freed; it has no
 * terminating zero, so copy what you need for longer. Names of arguments alone are zero-terminated, because they are
 * literals in most programs.
 *
 * JSON. Definitions, parameters and results are JSON text, in the form that the newest revision of MCP gives them; each
 * client gets them in its own. Results that are plain text need no JSON.
 *
 * NULL. A function that reads an object takes NULL and returns "nothing" (0, or no text). A required pointer that is NULL
 * gives FMCP_STATUS_INVALID_ARGUMENT. `err` may always be NULL.
 *
 * Errors. A function that can fail returns an fmcp_status. Results are written only on FMCP_STATUS_OK; the error object is
 * written only otherwise, and only if you gave a place for it. What `*out` and `*err` held before is not read or freed.
 * No panic of the library's leaves it: it comes back as FMCP_STATUS_PANIC. What a client does wrong is no error here; it is
 * answered to the client.
 *
 * Servers. Make an fmcp_server, add tools, resources and prompts, each with a handler, and let fmcp_server_run_stdio() serve
 * the client that has started the program. Handlers run on threads of the library's, several at once, and may block: other
 * requests go on meanwhile. No exception and no longjmp may leave a handler.
 *
 * Calls. A handler gets an fmcp_call, reads it, and answers it once, with one of fmcp_call_respond_*(), fmcp_call_tool_error()
 * and fmcp_call_fail*(). The call is valid until the handler returns. To answer later or on another thread, take
 * fmcp_call_retain() before that and fmcp_call_free() afterwards. Whoever holds the last share of a call that nobody has answered
 * answers it with an error by letting go, so a client never waits in vain. A second answer gives FMCP_STATUS_STATE; an answer
 * that nobody waits for any more (the request was cancelled, the client is gone) gives FMCP_STATUS_OK and is not sent.
 *
 * Asking. While it runs, a handler may ask its client: fmcp_call_elicit() and fmcp_call_elicit_url() the user,
 * fmcp_call_sample() the language model, fmcp_call_list_roots() for folders, fmcp_call_ask() several things at once. Clients of
 * every revision are asked by the same functions. They wait for the answer; but a client of revision 2026-07-28 or later is asked
 * by answering its request, and sends it again with what it has to say. So by default the handler runs twice: the function
 * gives FMCP_STATUS_SUSPENDED, the handler returns at once, and in its next run from the start the same question gives the
 * answer. What it does before a question must bear to be done twice; fmcp_server_set_reentry() with FMCP_REENTRY_HELD lets it
 * wait instead. What a user declines or closes is an answer, not an error. fmcp_call_input_required() is for code that keeps its
 * own account of where it is.
 *
 * Tasks. A call whose answer takes long can be a task: its client gets the task at once, and fetches the result later. Whether
 * calls of a tool are, its definition says ("execution":{"taskSupport":"optional"}); fmcp_call_begin_task() makes one of a
 * call that runs. The handler is written as ever, and asks as ever. fmcp_server_set_task_store() says where tasks are kept.
 *
 * Middleware. fmcp_server_add_middleware() puts two functions round every call of a handler: one looks at a call first and may
 * refuse it, the other is told how it ended. They get an fmcp_call of their own, which is only looked at.
 *
 * Extensions. `capabilities` of the configuration declare them and `extraMethods` name their methods, which
 * fmcp_server_set_delegate() serves. fmcp_server_on_notification() is told of their notifications, and fmcp_call_notify() sends
 * them.
 *
 * HTTP. fmcp_server_run_http() listens and serves whoever comes. A program that has an HTTP server starts its fmcp_server with
 * fmcp_server_start_carrier(), and hands on each request in three steps: fmcp_http_admit() looks at the head, fmcp_http_serve()
 * takes the body (read at most fmcp_http_body_limit() bytes and one), and fmcp_http_next() gives the response part by part, until
 * the last. Send each part at once. Freeing the fmcp_http before the last part says that the client is gone. fmcp_http_next()
 * waits, or gives nothing and has a function of fmcp_http_on_ready() called when there is more.
 *
 * User data. What a handler is called with may have a `destroy` function. It is called once, on any thread, when the data is
 * not needed any more. Where the function that takes the data fails, the data stays yours and is not destroyed.
 *
 * Own loop. An fmcp_engine is the same server without input, output, clock and threads. Open a stream for each client, feed
 * what arrives, and after every input, every answer and every timeout take outputs with fmcp_engine_poll() until there are
 * none: send what is FMCP_EVENT_TRANSMIT, answer what is FMCP_EVENT_CALL. Sleep until fmcp_engine_poll_timeout() and call
 * fmcp_engine_handle_timeout() then. Time is in milliseconds on a monotonic clock whose origin you choose. Nothing waits here:
 * fmcp_call_begin_ask() asks a client, and FMCP_EVENT_ANSWERS brings what it says. Tasks are kept in the engine, and end with it.
 *
 * Threads. There is no global state. All functions may be called on any thread, several at once on the same object; only
 * freeing has to come after every other use. An fmcp_server does not survive fork() in the child, which can only free it; one
 * that is made there does.
 *
 * Versions. FMCP_VERSION is the version of this header, fmcp_version() that of the library. Before 1.0 a new minor version
 * may change the ABI, and the library's SONAME then changes with it. Enum values keep their numbers for ever; be ready for
 * new ones.
 */


#ifndef FERROMCP_H
#define FERROMCP_H

/* Written by `make header` from ffi-c/src and ffi-c/cbindgen.toml. Change those, not this file. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of this header. */
#define FMCP_VERSION "0.1.0"
#define FMCP_VERSION_MAJOR 0
#define FMCP_VERSION_MINOR 1
#define FMCP_VERSION_PATCH 0

/* Codes of errors that handlers have a use for, as JSON-RPC numbers them. */
#define FMCP_CODE_INVALID_REQUEST (-32600)
#define FMCP_CODE_INVALID_PARAMS (-32602)
#define FMCP_CODE_INTERNAL_ERROR (-32603)

// How a request to the client ended. Numbers are never reused.
typedef enum {
    // No response: the handle was NULL.
    FMCP_OUTCOME_NONE = 0,
    // With a result.
    FMCP_OUTCOME_RESULT = 1,
    // With an error of the client's.
    FMCP_OUTCOME_ERROR = 2,
    // There was no answer in time.
    FMCP_OUTCOME_TIMED_OUT = 3,
    // The client is gone.
    FMCP_OUTCOME_CLOSED = 4,
    // With a result that is not what was asked for.
    FMCP_OUTCOME_INVALID = 5,
} fmcp_outcome;

// What a user did with a question (2026-07-28 `client/elicitation`, "Response Actions"). Numbers are never reused.
typedef enum {
    // There is no answer of this number, or it is none to an elicitation.
    FMCP_ACTION_NONE = 0,
    // The user has answered; to a URL: has agreed to go there, which does not say that anything was done there.
    FMCP_ACTION_ACCEPT = 1,
    // The user has said no.
    FMCP_ACTION_DECLINE = 2,
    // The user has closed the question.
    FMCP_ACTION_CANCEL = 3,
} fmcp_action;

// How a call went. Numbers are never reused.
typedef enum {
    // It did what it should; the results were written.
    FMCP_STATUS_OK = 0,
    // The caller passed something that can't be used, for example NULL for a required pointer.
    FMCP_STATUS_INVALID_ARGUMENT = 1,
    // The peer's text breaks the protocol; fmcp_error_code() tells how.
    FMCP_STATUS_PROTOCOL = 2,
    // A defect in the library. The object that was worked on must not be used again, except to free it.
    FMCP_STATUS_PANIC = 3,
    // The operating system refused something.
    FMCP_STATUS_IO = 4,
    // Not now: the call is answered, the server is not in this state, a limit is reached, the client takes no requests.
    FMCP_STATUS_STATE = 5,
    // No failure: the client is asked, and sends its request again with the answer; then the handler runs again and has it.
    // This run is over: return at once. Nothing that it still says of the call is sent.
    FMCP_STATUS_SUSPENDED = 6,
    // Nobody waits for the answer to this call any more, and so the client was not asked, or its answer not waited for.
    // fmcp_call_cancel_reason() says why. The handler should return.
    FMCP_STATUS_CANCELLED = 7,
    // The client has not declared the capability of fmcp_error_capability(), and was not asked. A handler that returns
    // without another answer tells it so.
    FMCP_STATUS_CAPABILITY_NOT_DECLARED = 8,
    // The client was asked, and gave no answer: an error of its own (fmcp_error_code() and fmcp_error_text() are its), one
    // that does not fit the question, or none in time.
    FMCP_STATUS_NO_ANSWER = 9,
    // The store of tasks can't be opened.
    FMCP_STATUS_TASK_STORE = 10,
} fmcp_status;

// What a call is for. Numbers are never reused.
typedef enum {
    // No call: the handle was NULL.
    FMCP_TARGET_NONE = 0,
    // A tool.
    FMCP_TARGET_TOOL = 1,
    // A resource.
    FMCP_TARGET_RESOURCE = 2,
    // A resource that a template stands for; fmcp_call_variable() has the parts of its URI.
    FMCP_TARGET_RESOURCE_TEMPLATE = 3,
    // A prompt.
    FMCP_TARGET_PROMPT = 4,
    // A completion for an argument of a prompt.
    FMCP_TARGET_PROMPT_COMPLETION = 5,
    // A completion for a variable of a resource template.
    FMCP_TARGET_TEMPLATE_COMPLETION = 6,
    // Anything else; the method decides.
    FMCP_TARGET_DELEGATED = 7,
} fmcp_target;

// What is to be done or known. Numbers are never reused; ignore those that you don't know.
typedef enum {
    // No output: the handle was NULL.
    FMCP_EVENT_NONE = 0,
    // Send fmcp_output_text() to the stream's client: whole lines.
    FMCP_EVENT_TRANSMIT = 1,
    // Answer fmcp_output_call(), now or later.
    FMCP_EVENT_CALL = 2,
    // Nobody waits for the answer to the call of fmcp_output_key() any more; fmcp_output_text() is the client's reason, if it
    // gave one. So also where a call was suspended by fmcp_call_begin_ask().
    FMCP_EVENT_CANCELLED = 3,
    // The client sent a notification that the engine has no use for: its method is fmcp_output_text().
    FMCP_EVENT_NOTIFICATION = 4,
    // A client of revision 2025-11-25 or earlier is ready.
    FMCP_EVENT_INITIALIZED = 5,
    // The stream's first watcher of a resource is there: the URI is fmcp_output_text().
    FMCP_EVENT_SUBSCRIBED = 6,
    // The stream's last watcher of a resource is gone: the URI is fmcp_output_text().
    FMCP_EVENT_UNSUBSCRIBED = 7,
    // Something that is worth a line in a log and changes nothing: fmcp_output_text() is the line.
    FMCP_EVENT_DIAGNOSTIC = 8,
    // After the end of input: everything is answered or given up. The stream can be closed.
    FMCP_EVENT_DRAINED = 9,
    // The client has answered what the call of fmcp_output_key() asked with fmcp_call_begin_ask(): fmcp_output_ask() tells
    // which questions, fmcp_output_answers() what.
    FMCP_EVENT_ANSWERS = 10,
    // The call of fmcp_output_key() is a task now, as fmcp_call_begin_task() wanted: its id is fmcp_output_text(). Or it could
    // not become one, and goes on without: then there is no text.
    FMCP_EVENT_TASK_BEGUN = 11,
} fmcp_event;

// Kinds of diagnostics. Numbers are never reused; be ready for new ones.
typedef enum {
    // No diagnostic: it is another event.
    FMCP_DIAGNOSTIC_NONE = 0,
    // A line that is no JSON text, or too long. It was answered with an error, and skipped.
    FMCP_DIAGNOSTIC_NOISE = 1,
    // A message that JSON-RPC or MCP does not allow. It was answered with an error where it has an id.
    FMCP_DIAGNOSTIC_BAD_MESSAGE = 2,
    // A response to nothing that was asked.
    FMCP_DIAGNOSTIC_STRAY_RESPONSE = 3,
    // A tool's result that does not fit the tool's output schema.
    FMCP_DIAGNOSTIC_BAD_RESULT = 4,
    // A definition that works and that the specification advises against.
    FMCP_DIAGNOSTIC_DEFINITION = 5,
    // A kind that this version has no number for.
    FMCP_DIAGNOSTIC_OTHER = 6,
    // The store of tasks could not do what was asked of it.
    FMCP_DIAGNOSTIC_STORE = 7,
} fmcp_diagnostic;

// What a message is, decided by its method first and its id second. Numbers are never reused.
typedef enum {
    // No message: the handle was NULL.
    FMCP_KIND_NONE = 0,
    // A method and an id; wants an answer.
    FMCP_KIND_REQUEST = 1,
    // A method without an id; wants none.
    FMCP_KIND_NOTIFICATION = 2,
    // A result or an error, under the id of the request that it answers.
    FMCP_KIND_RESPONSE = 3,
} fmcp_kind;

// How a call ended, as middleware is told. Numbers are never reused.
typedef enum {
    // With a result.
    FMCP_END_RESULT = 1,
    // With a result that says that the tool failed.
    FMCP_END_TOOL_ERROR = 2,
    // With a JSON-RPC error.
    FMCP_END_ERROR = 3,
    // The client is asked, and the call comes again.
    FMCP_END_INPUT_REQUIRED = 4,
    // Nobody waits for its answer any more; fmcp_call_cancel_reason() says why.
    FMCP_END_CANCELLED = 5,
} fmcp_end;

// How severe a log message is, as RFC 5424 has it. Numbers are never reused.
typedef enum {
    // Detailed debugging information.
    FMCP_LOG_LEVEL_DEBUG = 0,
    // General information.
    FMCP_LOG_LEVEL_INFO = 1,
    // Normal but significant.
    FMCP_LOG_LEVEL_NOTICE = 2,
    // Warning conditions.
    FMCP_LOG_LEVEL_WARNING = 3,
    // Error conditions.
    FMCP_LOG_LEVEL_ERROR = 4,
    // Critical conditions.
    FMCP_LOG_LEVEL_CRITICAL = 5,
    // Action must be taken at once.
    FMCP_LOG_LEVEL_ALERT = 6,
    // The system is unusable.
    FMCP_LOG_LEVEL_EMERGENCY = 7,
} fmcp_log_level;

// What becomes of a handler while a client of revision 2026-07-28 or later is asked. Numbers are never reused.
typedef enum {
    // It returns, and runs again from its start when the client has answered; then every question that was answered is
    // answered at once. Nothing is kept meanwhile, so any process with the same `stateKeys` can go on with it.
    FMCP_REENTRY_REPLAY = 0,
    // It waits, in this process and on its thread. For handlers that must not run twice.
    FMCP_REENTRY_HELD = 1,
} fmcp_reentry;

// The answers to the questions of one round, numbered from 0 in the order asked; a single question has number 0. Owned by
// whoever received it; freed with fmcp_answers_free().
typedef struct fmcp_answers fmcp_answers;

// A request of a client that your code answers. See "Calls" at the top of this file.
typedef struct fmcp_call fmcp_call;

// An MCP server without input, output, clock and threads. See "Own loop" at the top of this file.
typedef struct fmcp_engine fmcp_engine;

// What went wrong. Owned by whoever received it; freed with fmcp_error_free().
typedef struct fmcp_error fmcp_error;

// A request of HTTP and the response to it. See "HTTP" at the top of this file. Owned by whoever received it; freed with
// fmcp_http_free().
typedef struct fmcp_http fmcp_http;

// A part of a response. Owned by whoever received it; freed with fmcp_http_part_free().
typedef struct fmcp_http_part fmcp_http_part;

// A JSON-RPC message. Owned by whoever received it; freed with fmcp_message_free().
typedef struct fmcp_message fmcp_message;

// Something to do. Owned by whoever took it out of the engine; freed with fmcp_output_free().
typedef struct fmcp_output fmcp_output;

// What became of a request to the client. It belongs to the library and lives until the handler returns.
typedef struct fmcp_response fmcp_response;

// A server with handlers. See "Servers" at the top of this file. Its functions may be called from any thread and from
// handlers.
typedef struct fmcp_server fmcp_server;

// A piece of UTF-8 text: from the library it belongs to the object that it was asked from, into the library it stays
// yours. `data` is not terminated by a zero byte, and is NULL where there is no text (which is not the same as an empty
// text).
typedef struct {
    // The first byte, or NULL.
    const char *data;
    // The number of bytes.
    size_t len;
} fmcp_text;

// One thing to ask of a client.
typedef struct {
    // By which its answer is found again, unique within the call. None: by the order in which the handler asks, which must
    // then be the same in every run.
    fmcp_text key;
    // "elicitation/create", "sampling/createMessage" or "roots/list".
    fmcp_text method;
    // The parameters as the JSON text of an object, in the newest revision's form; or none.
    fmcp_text params;
} fmcp_input_request;

// Takes the answer to a request of fmcp_call_request().
typedef void (*fmcp_response_handler)(const fmcp_response *response, void *user_data);

// Called once with user data that is not needed any more, on any thread.
typedef void (*fmcp_destroy)(void *user_data);

// One field of a request's head.
typedef struct {
    // Its name, in any case.
    fmcp_text name;
    // Its value, of any bytes.
    fmcp_text value;
} fmcp_http_header;

// Called on any thread when fmcp_http_next() gave no part and should be asked again. It must return soon, and only tell
// whoever asks. It may come without need, and once more while the request is freed.
typedef void (*fmcp_http_ready)(void *user_data);

// Answers a call, now or later. It may block: other requests go on meanwhile. It runs on threads of the library's, on
// several at once. The call is the library's until the handler returns; fmcp_call_retain() makes it the handler's too.
typedef void (*fmcp_call_handler)(fmcp_call *call, void *user_data);

// What became of a call. The library makes it, and it lives until the function returns that it is given to; later versions may
// have more at its end.
typedef struct {
    // How it ended.
    fmcp_end end;
    // Whether a middleware, or the policy, has refused it.
    bool refused;
    // The code with FMCP_END_ERROR, else 0.
    int64_t error_code;
    // Microseconds from the moment that the handler was to get it.
    uint64_t duration_us;
    // Bytes of the answer; 0 without one.
    uint64_t bytes;
    // The answer's main part, for a middleware that wants texts: the text of a text block or an error, else JSON. Else none.
    fmcp_text text;
} fmcp_call_outcome;

// Is told what became of a call: after it, in a middleware. It runs on the thread that reads, so it must return soon.
typedef void (*fmcp_after_handler)(const fmcp_call *call, const fmcp_call_outcome *outcome, void *user_data);

// Is told of a notification. `params` is the JSON text of an object, or none, and lives until the function returns. It runs on
// the thread that reads, so it must return soon.
typedef void (*fmcp_notification_handler)(fmcp_text params, void *user_data);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// How many answers there are; 0 for NULL.
size_t fmcp_answers_count(const fmcp_answers *answers);

// How a question ended; FMCP_OUTCOME_NONE for NULL and for a number that is not there. What fmcp_call_ask() and its like give
// are results alone; FMCP_EVENT_ANSWERS brings all kinds.
fmcp_outcome fmcp_answers_outcome(const fmcp_answers *answers,
                                  size_t at);

// What the user did with an elicitation.
fmcp_action fmcp_answers_action(const fmcp_answers *answers, size_t at);

// What the user has filled in, as the JSON text of an object that fits the form's schema; none where there is none.
fmcp_text fmcp_answers_content(const fmcp_answers *answers, size_t at);

// The whole result as JSON text, as the client wrote it (an `ElicitResult`, `CreateMessageResult` or `ListRootsResult`); none
// without one.
fmcp_text fmcp_answers_result(const fmcp_answers *answers,
                              size_t at);

// The code of the client's error; 0 without one.
int64_t fmcp_answers_error_code(const fmcp_answers *answers, size_t at);

// The message of the client's error, or what is wrong with its result; none for other outcomes.
fmcp_text fmcp_answers_error_message(const fmcp_answers *answers, size_t at);

// Frees answers, and with them every text that was asked from them. NULL does nothing.
void fmcp_answers_free(fmcp_answers *answers);

// Makes the call yours too: it lives on when the handler has returned, and is answered later, on any thread. Give it
// back with fmcp_call_free(). The result is the same pointer; NULL for NULL.
fmcp_call *fmcp_call_retain(fmcp_call *call);

// Gives back a call that was retained. When it was not answered and nobody else has it, the client gets an error. NULL
// does nothing.
void fmcp_call_free(fmcp_call *call);

// Answers with a text: a tool gives the model one block of it, a resource has it as its contents, with the `mimeType` of its
// definition, a prompt says it as the user.
fmcp_status fmcp_call_respond_text(fmcp_call *call,
                                   fmcp_text text,
                                   fmcp_error **err);

// Says that a tool failed, in a text that the model reads (a result with `isError`).
fmcp_status fmcp_call_tool_error(fmcp_call *call, fmcp_text text, fmcp_error **err);

// Answers a tool's call, all of it as JSON text in the newest revision's form.
//
// \param content    an array of content blocks; none stands for an empty one
// \param structured the value of `structuredContent`, or none. Without blocks it goes out as text too.
// \param is_error   whether the tool failed
// \param meta       the result's own `_meta` object, or none
fmcp_status fmcp_call_respond_tool(fmcp_call *call,
                                   fmcp_text content,
                                   fmcp_text structured,
                                   bool is_error,
                                   fmcp_text meta,
                                   fmcp_error **err);

// Answers the read of a resource.
//
// \param contents the JSON text of an array of resource contents, in the newest revision's form
fmcp_status fmcp_call_respond_contents(fmcp_call *call, fmcp_text contents, fmcp_error **err);

// Answers the request for a prompt.
//
// \param description what the prompt is for, or none
// \param messages    the JSON text of an array of prompt messages, in the newest revision's form
fmcp_status fmcp_call_respond_prompt(fmcp_call *call, fmcp_text description, fmcp_text messages, fmcp_error **err);

// Answers a completion.
//
// \param values   the JSON text of an array of strings
// \param total    how many there are in all, or a negative number where that is not known
// \param has_more 1: there are more than these, 0: there are not, a negative number: not known
fmcp_status fmcp_call_respond_completion(fmcp_call *call,
                                         fmcp_text values,
                                         int64_t total,
                                         int32_t has_more,
                                         fmcp_error **err);

// Answers any call with a whole result.
//
// \param result the JSON text of the result object, in the newest revision's form
fmcp_status fmcp_call_respond_result(fmcp_call *call, fmcp_text result, fmcp_error **err);

// Answers a tool's call, the read of a resource or the request for a prompt with questions, by hand: for code that keeps
// its own account of where it is; fmcp_call_ask() and its like do this for all other code. The call is over; when its client
// has answered there is a new one, with fmcp_call_input_responses() and fmcp_call_request_state(). That holds for clients of
// every revision. FMCP_STATUS_CAPABILITY_NOT_DECLARED leaves the call open.
//
// \param requests the JSON text of an object, with an object of `method` and `params` under each key; or none
// \param state    any text that comes back with the answers, or none. It goes through the client, and nobody else can read
//                 or change it. A round needs requests, a state, or both.
fmcp_status fmcp_call_input_required(fmcp_call *call,
                                     fmcp_text requests,
                                     fmcp_text state,
                                     fmcp_error **err);

// Answers any call with a JSON-RPC error. What a model could mend belongs into fmcp_call_tool_error() instead.
//
// \param code    one of FMCP_CODE_*, or one of your own
// \param message one plain sentence
// \param data    the JSON text of the error's `data`, or none
fmcp_status fmcp_call_fail(fmcp_call *call, int64_t code, fmcp_text message, fmcp_text data, fmcp_error **err);

// Answers the read of a resource that does not exist, for example of a template with a number that nothing has, in the
// code that the client's revision has for that.
fmcp_status fmcp_call_fail_not_found(fmcp_call *call, fmcp_error **err);

// Answers a call whose client lacks a capability, in the way that its revision has for that. A call that could not ask for
// want of one, and that is let go without an answer, is answered so by itself.
//
// \param capability what the client would have to declare, as fmcp_error_capability() writes it
fmcp_status fmcp_call_fail_capability(fmcp_call *call,
                                      fmcp_text capability,
                                      fmcp_error **err);

// The arguments of a tool or prompt as JSON text, as the client wrote them; `{}` where it sent none.
fmcp_text fmcp_call_arguments(const fmcp_call *call);

// One argument as JSON text, as the client wrote it; none where it is not there.
//
// \param name the argument's name, with a terminating zero
fmcp_text fmcp_call_argument(const fmcp_call *call, const char *name);

// A string argument, decoded. Lives as long as the call.
//
// \param name  the argument's name, with a terminating zero
// \param value where to write it; required
fmcp_status fmcp_call_string(const fmcp_call *call, const char *name, fmcp_text *value, fmcp_error **err);

// An integer argument. FMCP_STATUS_INVALID_ARGUMENT when it has a fraction or does not fit into 64 bits.
//
// \param name  the argument's name, with a terminating zero
// \param value where to write it; required
fmcp_status fmcp_call_integer(const fmcp_call *call, const char *name, int64_t *value, fmcp_error **err);

// A number argument.
//
// \param name  the argument's name, with a terminating zero
// \param value where to write it; required
fmcp_status fmcp_call_number(const fmcp_call *call, const char *name, double *value, fmcp_error **err);

// A boolean argument.
//
// \param name  the argument's name, with a terminating zero
// \param value where to write it; required
fmcp_status fmcp_call_boolean(const fmcp_call *call, const char *name, bool *value, fmcp_error **err);

// The URI of a resource that is read, decoded; none for other calls. Lives as long as the call.
fmcp_text fmcp_call_uri(const fmcp_call *call);

// What is called: the name of the tool or prompt, or the URI of the resource, decoded; none for other methods that name
// nothing. Lives as long as the call.
fmcp_text fmcp_call_name(const fmcp_call *call);

// Asks the user by a form, and waits for the answer; other calls go on meanwhile. Declining and closing the form are
// answers. For handlers of the ready-made loop. FMCP_STATUS_SUSPENDED: return at once, the handler runs again.
//
// \param message    what the user is asked
// \param schema     the JSON Schema of the form: a flat object of primitive properties
// \param key        as that of an fmcp_input_request, or none
// \param timeout_ms how long a client of an older revision has, 0 for ever, a negative number: as `outgoingTimeoutMs` of the
//                   limits says. One of revision 2026-07-28 or later comes back in its own time
// \param out        where to write the answer, which has number 0; required
fmcp_status fmcp_call_elicit(fmcp_call *call,
                             fmcp_text message,
                             fmcp_text schema,
                             fmcp_text key,
                             int64_t timeout_ms,
                             fmcp_answers **out,
                             fmcp_error **err);

// Asks the user to visit a URL, for what must not go through the client: credentials, payments. Accepting means that the user
// agreed to go there. As fmcp_call_elicit().
//
// \param message    why the user should go there
// \param url        where
// \param key        as that of an fmcp_input_request, or none
// \param timeout_ms as that of fmcp_call_elicit()
// \param out        where to write the answer, which has number 0; required
fmcp_status fmcp_call_elicit_url(fmcp_call *call,
                                 fmcp_text message,
                                 fmcp_text url,
                                 fmcp_text key,
                                 int64_t timeout_ms,
                                 fmcp_answers **out,
                                 fmcp_error **err);

// Asks the client's language model, and waits for what it says. As fmcp_call_elicit().
//
// \param params the JSON text of a `CreateMessageRequest`'s parameters: `messages`, `maxTokens`, and what else is wanted
// \param key        as that of an fmcp_input_request, or none
// \param timeout_ms as that of fmcp_call_elicit()
// \param out        where to write the answer, which has number 0 and a `CreateMessageResult`; required
fmcp_status fmcp_call_sample(fmcp_call *call,
                             fmcp_text params,
                             fmcp_text key,
                             int64_t timeout_ms,
                             fmcp_answers **out,
                             fmcp_error **err);

// Asks which folders and files the client works on. As fmcp_call_elicit().
//
// \param key        as that of an fmcp_input_request, or none
// \param timeout_ms as that of fmcp_call_elicit()
// \param out        where to write the answer, which has number 0 and a `ListRootsResult`; required
fmcp_status fmcp_call_list_roots(fmcp_call *call,
                                 fmcp_text key,
                                 int64_t timeout_ms,
                                 fmcp_answers **out,
                                 fmcp_error **err);

// Asks several things in one round. As fmcp_call_elicit(); FMCP_STATUS_NO_ANSWER is about the first question that has none.
//
// \param requests   what to ask
// \param count      how many there are, at least one
// \param timeout_ms as that of fmcp_call_elicit()
// \param out        where to write the answers, numbered in the order of `requests`; required
fmcp_status fmcp_call_ask(fmcp_call *call,
                          const fmcp_input_request *requests,
                          size_t count,
                          int64_t timeout_ms,
                          fmcp_answers **out,
                          fmcp_error **err);

// Asks several things in one round and returns at once, in a loop of your own. Either the answers are there already (an
// earlier run of the call has asked the same): then they are in `*answers`. Or `*answers` is NULL: the call goes on, and
// they come with FMCP_EVENT_ANSWERS. FMCP_STATUS_SUSPENDED: this run of the call is over, let go of it; the client's next
// request brings the call again, and the answers with it.
//
// \param requests   what to ask
// \param count      how many there are, at least one
// \param reentry    an fmcp_reentry: whether this run of the call ends while a client of revision 2026-07-28 or later is asked
// \param timeout_ms how long a client of an older revision has, 0 for ever, a negative number: as the limits say
// \param ask        where to write the number of these questions, as fmcp_output_ask() tells it; required
// \param answers    where to write the answers or NULL; required
fmcp_status fmcp_call_begin_ask(fmcp_call *call,
                                const fmcp_input_request *requests,
                                size_t count,
                                int32_t reentry,
                                int64_t timeout_ms,
                                uint64_t *ask,
                                fmcp_answers **answers,
                                fmcp_error **err);

// What the call is for; FMCP_TARGET_NONE for NULL.
fmcp_target fmcp_call_target(const fmcp_call *call);

// The tag under which its definition was added to an fmcp_engine; 0 for NULL and for what has no definition.
uint64_t fmcp_call_tag(const fmcp_call *call);

// The number that names this call in events; never given twice by one server or engine. 0 for NULL.
uint64_t fmcp_call_key(const fmcp_call *call);

// The stream that it came on; 0 for NULL.
uint32_t fmcp_call_stream(const fmcp_call *call);

// The request's method.
fmcp_text fmcp_call_method(const fmcp_call *call);

// The request's id as JSON text, as the client wrote it.
fmcp_text fmcp_call_id(const fmcp_call *call);

// The revision of MCP that the request falls under, for example "2026-07-28".
fmcp_text fmcp_call_protocol_version(const fmcp_call *call);

// All parameters as JSON text, as the client wrote them; none where it sent none.
fmcp_text fmcp_call_params(const fmcp_call *call);

// The `_meta` of the parameters as JSON text; none where the client sent none.
fmcp_text fmcp_call_meta(const fmcp_call *call);

// What the client says it is, as the JSON text of an `Implementation`; none where it said nothing.
fmcp_text fmcp_call_client_info(const fmcp_call *call);

// What the client can do, as the JSON text of a `ClientCapabilities`.
fmcp_text fmcp_call_client_capabilities(const fmcp_call *call);

// What the URI gave a variable of the resource template, percent-decoded; none where the template has no such variable
// or the URI leaves it out.
fmcp_text fmcp_call_variable(const fmcp_call *call, const char *name);

// The argument or variable that is to be completed; none for other calls.
fmcp_text fmcp_call_completion_argument(const fmcp_call *call);

// What was typed so far of the argument that is to be completed; none for other calls.
fmcp_text fmcp_call_completion_value(const fmcp_call *call);

// What the client has answered to fmcp_call_input_required(): the JSON text of an object, key and result of what was asked.
// None where there was no such round before. That a key is there, and that what it has is good, is for the handler to see.
fmcp_text fmcp_call_input_responses(const fmcp_call *call);

// The state that was given with fmcp_call_input_required(), as it was; none where none was given.
fmcp_text fmcp_call_request_state(const fmcp_call *call);

// Who has called, as far as that was verified: what fmcp_http_admit() or fmcp_engine_set_principal() was told. None over standard
// input and output, over the library's own listener, and when the client is gone. Lives as long as the call.
fmcp_text fmcp_call_principal(const fmcp_call *call);

// True as soon as nobody waits for the answer: the client cancelled the request or is gone, or it ran too long. Work
// that takes its time should look now and then, and stop.
bool fmcp_call_is_cancelled(const fmcp_call *call);

// Why nobody waits for the answer, for a person: the client's own words where it gave some (`reason` of
// `notifications/cancelled`). None as long as fmcp_call_is_cancelled() is false. Lives as long as the call.
fmcp_text fmcp_call_cancel_reason(const fmcp_call *call);

// Refuses a call, in a middleware's function that is called before the handler: that never hears of it. A tool's call is
// answered with a tool error, whose text the model reads and acts upon; any other with the error -32603. fmcp_call_fail()
// refuses with an error of one's own.
//
// \param text           why
// \param retry_after_ms when it is worth trying again, in milliseconds from now: it is said in the text, and for programs as
//                       `ferromcp/retryAfterMs` in the tool error's `_meta`, or `retryAfterMs` in the error's `data`. A
//                       negative number says nothing
fmcp_status fmcp_call_refuse(fmcp_call *call,
                             fmcp_text text,
                             int64_t retry_after_ms,
                             fmcp_error **err);

// The id of the task that this call is; none where it is none, or over. A call is one from its beginning where its tool's
// definition says so (`execution.taskSupport`) and its client takes tasks, or becomes one by fmcp_call_begin_task(). Lives as
// long as the call.
fmcp_text fmcp_call_task_id(const fmcp_call *call);

// Turns the call of a tool into a task: its client gets the task for an answer, and fetches the result when the handler has
// answered. What has to be asked of the client first is best asked before. In the ready-made loop this waits until the task is
// kept. In a loop of your own it returns at once, and FMCP_EVENT_TASK_BEGUN tells what has come of it. The server has to offer
// tasks: one of its tools may be one by its definition, or the configuration's `capabilities` say
// `"extensions":{"io.modelcontextprotocol/tasks":{}}`.
//
// \param begun where to write whether the call is a task now (in a loop of your own: whether the event will come); required.
//              False: its client takes no tasks, or is of revision 2025-11-25, where clients alone ask for them; the server
//              offers none; or the call is a task already, or over. Then it goes on as it is
fmcp_status fmcp_call_begin_task(fmcp_call *call,
                                 bool *begun,
                                 fmcp_error **err);

// Tells the client how far the work is, if it asked. Values that do not rise are not sent.
//
// \param progress how far it is; a finite number
// \param total    out of how much; NAN where that is not known
// \param message  one line for a person, or none
fmcp_status fmcp_call_report_progress(fmcp_call *call,
                                      double progress,
                                      double total,
                                      fmcp_text message,
                                      fmcp_error **err);

// Sends the client a line of text as a log message, if it wants one of this level.
//
// \param level an fmcp_log_level
// \param text  the line
fmcp_status fmcp_call_log(fmcp_call *call, int32_t level, fmcp_text text, fmcp_error **err);

// The same with any value, and with a name of who logs.
//
// \param level  an fmcp_log_level
// \param logger who logs, or none
// \param data   the value, as JSON text
fmcp_status fmcp_call_log_json(fmcp_call *call, int32_t level, fmcp_text logger, fmcp_text data, fmcp_error **err);

// Sends a notification that belongs to this call.
//
// \param method its method
// \param params the JSON text of an object, or none
fmcp_status fmcp_call_notify(fmcp_call *call, fmcp_text method, fmcp_text params, fmcp_error **err);

// Over HTTP, ends the connection on which a client of revision 2025-11-25 or earlier waits for the answer, and not the call: the
// client comes back for it, and gets what was sent meanwhile. For calls that take minutes, so that nothing on the way has to
// hold a connection for so long. Where there is no such connection nothing happens.
//
// \param closed where to write whether there was one; or NULL
fmcp_status fmcp_call_close_sse_stream(fmcp_call *call,
                                       bool *closed,
                                       fmcp_error **err);

// Sends the client a request of any method and returns at once; the handler gets the answer, once. In an own loop
// fmcp_engine_poll() calls it. FMCP_STATUS_STATE where this client takes no requests: in revision 2026-07-28 none does.
// FMCP_STATUS_CAPABILITY_NOT_DECLARED where it takes others. What clients of every revision can be asked (elicitation,
// sampling, roots), fmcp_call_ask() and its like ask them.
//
// \param method     the request's method
// \param params     the JSON text of an object, or none
// \param timeout_ms how long the client has, 0 for ever, a negative number: as the server's limits say
// \param handler    what gets the answer; required. Must return soon.
// \param user_data  passed to the handler; taken over on FMCP_STATUS_OK only
// \param destroy    called with user_data after the handler, or when there will be no answer; or NULL
fmcp_status fmcp_call_request(fmcp_call *call,
                              fmcp_text method,
                              fmcp_text params,
                              int64_t timeout_ms,
                              fmcp_response_handler handler,
                              void *user_data,
                              fmcp_destroy destroy,
                              fmcp_error **err);

// Makes an engine from a configuration, the same JSON object as that of fmcp_server_from_config().
//
// \param out where to write the new engine; required
fmcp_status fmcp_engine_new(fmcp_text config, fmcp_engine **out, fmcp_error **err);

// Opens a stream: a client is there.
//
// \param now    milliseconds on your clock
// \param stream where to write the stream's number; required
fmcp_status fmcp_engine_open(fmcp_engine *engine, uint64_t now, uint32_t *stream, fmcp_error **err);

// Feeds bytes of a client's, cut anywhere. What the client does wrong is answered to the client and no error here.
//
// \param bytes not needed after the call; may be NULL when `len` is 0
// \param now   milliseconds on your clock
fmcp_status fmcp_engine_receive(fmcp_engine *engine,
                                uint32_t stream,
                                const uint8_t *bytes,
                                size_t len,
                                uint64_t now,
                                fmcp_error **err);

// The client sends no more. FMCP_EVENT_DRAINED tells when everything of it is answered or given up.
fmcp_status fmcp_engine_end_of_input(fmcp_engine *engine, uint32_t stream, uint64_t now, fmcp_error **err);

// Nothing can be sent to the client any more: everything of its stream is over, and the stream is forgotten.
fmcp_status fmcp_engine_close(fmcp_engine *engine, uint32_t stream, uint64_t now, fmcp_error **err);

// Ends every subscription and refuses new requests. Calls that run may still be answered.
fmcp_status fmcp_engine_shutdown(fmcp_engine *engine, uint64_t now, fmcp_error **err);

// Takes what is to be done next. After every input, answer and timeout, take outputs until there are none.
//
// \param out where to write the new output, or NULL where there is nothing to do; required
fmcp_status fmcp_engine_poll(fmcp_engine *engine, fmcp_output **out, fmcp_error **err);

// When fmcp_engine_handle_timeout() wants to be called if nothing else happens before, on your clock; UINT64_MAX: never.
// The same for NULL.
uint64_t fmcp_engine_poll_timeout(const fmcp_engine *engine);

// Does what is due. Calling it early or late does no harm.
fmcp_status fmcp_engine_handle_timeout(fmcp_engine *engine, uint64_t now, fmcp_error **err);

// Frees an engine. Calls that were retained live on, and their answers reach nobody. NULL does nothing.
void fmcp_engine_free(fmcp_engine *engine);

// Says what UNIX time, in milliseconds, the zero of your clock is; say it again when the system's clock was set. What goes
// through clients while they are asked carries the time until which it is good, and tasks tell when they were made. Engines that
// share `stateKeys`, or take them up again after a restart, and those with tasks need it; for others their own clock will do.
fmcp_status fmcp_engine_set_epoch(fmcp_engine *engine,
                                  uint64_t unix_ms,
                                  fmcp_error **err);

// Takes new keys in the place of the configuration's `stateKeys`, as fmcp_server_set_state_keys() does.
//
// \param keys  texts, each 32 bytes in base64; may be NULL when `count` is 0: then the engine seals with a key of its own
// \param count how many there are
fmcp_status fmcp_engine_set_state_keys(fmcp_engine *engine,
                                       const fmcp_text *keys,
                                       size_t count,
                                       fmcp_error **err);

// Says who is behind a stream, as far as you have verified it: what one principal was asked, another can't answer.
//
// \param principal any name that is the same whenever it is the same principal; none where nobody is known
fmcp_status fmcp_engine_set_principal(fmcp_engine *engine, uint32_t stream, fmcp_text principal, fmcp_error **err);

// Adds a tool.
//
// \param definition the JSON text of a `Tool`, as the newest revision writes it
// \param tag        a number of your choice, which fmcp_call_tag() gives back
// \param now        milliseconds on your clock
fmcp_status fmcp_engine_add_tool(fmcp_engine *engine,
                                 fmcp_text definition,
                                 uint64_t tag,
                                 uint64_t now,
                                 fmcp_error **err);

// Adds a resource.
//
// \param definition the JSON text of a `Resource`, as the newest revision writes it
// \param tag        a number of your choice, which fmcp_call_tag() gives back
// \param now        milliseconds on your clock
fmcp_status fmcp_engine_add_resource(fmcp_engine *engine,
                                     fmcp_text definition,
                                     uint64_t tag,
                                     uint64_t now,
                                     fmcp_error **err);

// Adds a resource template.
//
// \param definition the JSON text of a `ResourceTemplate`, as the newest revision writes it
// \param tag        a number of your choice, which fmcp_call_tag() gives back
// \param now        milliseconds on your clock
fmcp_status fmcp_engine_add_resource_template(fmcp_engine *engine,
                                              fmcp_text definition,
                                              uint64_t tag,
                                              uint64_t now,
                                              fmcp_error **err);

// Adds a prompt.
//
// \param definition the JSON text of a `Prompt`, as the newest revision writes it
// \param tag        a number of your choice, which fmcp_call_tag() gives back
// \param now        milliseconds on your clock
fmcp_status fmcp_engine_add_prompt(fmcp_engine *engine,
                                   fmcp_text definition,
                                   uint64_t tag,
                                   uint64_t now,
                                   fmcp_error **err);

// Removes a tool by its name. Calls of it that run go on.
fmcp_status fmcp_engine_remove_tool(fmcp_engine *engine, fmcp_text name, uint64_t now, fmcp_error **err);

// Removes a resource by its URI. Calls of it that run go on.
fmcp_status fmcp_engine_remove_resource(fmcp_engine *engine, fmcp_text uri, uint64_t now, fmcp_error **err);

// Removes a resource template by its text. Calls of it that run go on.
fmcp_status fmcp_engine_remove_resource_template(fmcp_engine *engine,
                                                 fmcp_text uri_template,
                                                 uint64_t now,
                                                 fmcp_error **err);

// Removes a prompt by its name. Calls of it that run go on.
fmcp_status fmcp_engine_remove_prompt(fmcp_engine *engine, fmcp_text name, uint64_t now, fmcp_error **err);

// Shows a tool to clients, or hides it: a hidden one is in no list, and calling it is calling nothing. Calls that run go on.
//
// \param name    the tool's name
// \param enabled whether clients see it; what was added is seen
// \param now     milliseconds on your clock
fmcp_status fmcp_engine_enable_tool(fmcp_engine *engine,
                                    fmcp_text name,
                                    bool enabled,
                                    uint64_t now,
                                    fmcp_error **err);

// Shows a resource to clients, or hides it. As fmcp_engine_enable_tool().
fmcp_status fmcp_engine_enable_resource(fmcp_engine *engine,
                                        fmcp_text uri,
                                        bool enabled,
                                        uint64_t now,
                                        fmcp_error **err);

// Shows a resource template to clients, or hides it. As fmcp_engine_enable_tool().
fmcp_status fmcp_engine_enable_resource_template(fmcp_engine *engine,
                                                 fmcp_text uri_template,
                                                 bool enabled,
                                                 uint64_t now,
                                                 fmcp_error **err);

// Shows a prompt to clients, or hides it. As fmcp_engine_enable_tool().
fmcp_status fmcp_engine_enable_prompt(fmcp_engine *engine,
                                      fmcp_text name,
                                      bool enabled,
                                      uint64_t now,
                                      fmcp_error **err);

// Says that a resource has changed: clients that watch it are told.
fmcp_status fmcp_engine_resource_updated(fmcp_engine *engine, fmcp_text uri, fmcp_error **err);

// Says that a visit to a URL is complete: the client that was asked for it under this elicitationId is told, once; where none
// was, nobody is (2025-11-25 client/elicitation, "Completion Notifications for URL Mode Elicitation"). The call that asked may be
// over.
fmcp_status fmcp_engine_complete_elicitation(fmcp_engine *engine,
                                             fmcp_text elicitation_id,
                                             fmcp_error **err);

// What is to be done or known; FMCP_EVENT_NONE for NULL.
fmcp_event fmcp_output_event(const fmcp_output *output);

// The stream that it is about; 0 where it is about none.
uint32_t fmcp_output_stream(const fmcp_output *output);

// The key of the call that it is about; 0 where it is about none.
uint64_t fmcp_output_key(const fmcp_output *output);

// The text that the event speaks of; none where there is none. Lives as long as the output.
fmcp_text fmcp_output_text(const fmcp_output *output);

// The parameters of a notification as JSON text; none where there are none. Lives as long as the output.
fmcp_text fmcp_output_params(const fmcp_output *output);

// What kind of diagnostic it is; FMCP_DIAGNOSTIC_NONE for other outputs.
fmcp_diagnostic fmcp_output_diagnostic(const fmcp_output *output);

// The call that is to be answered; NULL for other outputs. It is the output's, and goes with it: fmcp_call_retain() makes it
// yours too.
fmcp_call *fmcp_output_call(const fmcp_output *output);

// With FMCP_EVENT_ANSWERS the number that fmcp_call_begin_ask() gave to the questions; 0 for other outputs.
uint64_t fmcp_output_ask(const fmcp_output *output);

// With FMCP_EVENT_ANSWERS what the client has answered; NULL for other outputs. It is the output's, and goes with it.
const fmcp_answers *fmcp_output_answers(const fmcp_output *output);

// Frees an output, and with it every text that was asked from it. A call that nobody retained is over then: when it was
// not answered, the client gets an error. NULL does nothing.
void fmcp_output_free(fmcp_output *output);

// The status with which the failed call returned. FMCP_STATUS_OK for NULL.
fmcp_status fmcp_error_status(const fmcp_error *error);

// With FMCP_STATUS_PROTOCOL the JSON-RPC error code to answer the peer with; with FMCP_STATUS_NO_ANSWER that of the client's
// own error, if it gave one. Else 0.
int64_t fmcp_error_code(const fmcp_error *error);

// What went wrong, for a person; do not compare it in programs. Lives as long as the error.
fmcp_text fmcp_error_text(const fmcp_error *error);

// The id that the peer can be answered under, as JSON text, where one could be read. Lives as long as the error.
fmcp_text fmcp_error_id(const fmcp_error *error);

// With FMCP_STATUS_CAPABILITY_NOT_DECLARED what the client would have to declare, as names with a dot between them, for
// example "elicitation.url"; none for other statuses. Lives as long as the error.
fmcp_text fmcp_error_capability(const fmcp_error *error);

// Frees an error. NULL does nothing.
void fmcp_error_free(fmcp_error *error);

// Looks at the head of a request that reached the program: the first of three steps, before the body is read. Whatever the
// client sent is fine here: what it may not do is in the response. fmcp_http_serve() is the second step, fmcp_http_next() the
// third.
//
// \param server       started with fmcp_server_start_carrier(), or with a listener of its own beside the program's
// \param method       as the client wrote it
// \param target       the path, with the query behind a question mark
// \param headers      the fields of the head, in their order; with HTTP/2 `:authority` as `Host`. NULL where count is 0
// \param header_count how many there are
// \param principal    who is behind the request, as far as you have verified it: any name that is the same whenever it is the
//                     same principal; none where nobody is known
// \param out          where to write the request; required
fmcp_status fmcp_http_admit(fmcp_server *server,
                            fmcp_text method,
                            fmcp_text target,
                            const fmcp_http_header *headers,
                            size_t header_count,
                            fmcp_text principal,
                            fmcp_http **out,
                            fmcp_error **err);

// How many bytes the body may have. 0: none is to be read, because the method has none or the head was refused; where a
// client sends one all the same, close the connection after the response.
size_t fmcp_http_body_limit(const fmcp_http *http);

// Serves a request, once. A body of more bytes than fmcp_http_body_limit() is answered with 413, so one byte more is all that
// has to be read of it. It does not wait: fmcp_http_next() brings the response, also where the head was refused.
//
// \param body   the whole body; NULL where length is 0
// \param length how many bytes it has
fmcp_status fmcp_http_serve(fmcp_http *http,
                            const uint8_t *body,
                            size_t length,
                            fmcp_error **err);

// Waits for the next part of the response. The first has a status and header fields; fmcp_http_part_is_last() tells the last,
// after which this gives FMCP_STATUS_STATE. A stream may be silent for as long as `keepAliveMs`, and last for days.
//
// \param timeout_ms how long to wait: 0 not at all, a negative number for ever
// \param out        where to write the part, or NULL where there is none in time; required
fmcp_status fmcp_http_next(fmcp_http *http,
                           int64_t timeout_ms,
                           fmcp_http_part **out,
                           fmcp_error **err);

// Sets what is called when fmcp_http_next() gave no part and should be asked again: for programs that don't wait in it. A
// second one takes the first one's place.
//
// \param function  what is called; required
// \param user_data passed to the function; taken over on FMCP_STATUS_OK only
// \param destroy   called with user_data at its end, or NULL
fmcp_status fmcp_http_on_ready(fmcp_http *http,
                               fmcp_http_ready function,
                               void *user_data,
                               fmcp_destroy destroy,
                               fmcp_error **err);

// Frees a request. Before the last part it says that the client is gone: a request of revision 2026-07-28 or later is cancelled
// by that, an older one goes on without the connection. NULL does nothing.
void fmcp_http_free(fmcp_http *http);

// The status code, in the first part; 0 in every other.
int32_t fmcp_http_part_status(const fmcp_http_part *part);

// How many header fields there are, in the first part; 0 in every other. What HTTP/1.1 says of the message itself is not among
// them: a first part that is the last too has its whole body, so `Content-Length` is the body's length (a response with status
// 204 has none); else the body comes in pieces.
size_t fmcp_http_part_header_count(const fmcp_http_part *part);

// The name of a header field, in lower case; none where there is no such field. Lives as long as the part.
//
// \param at the field's number, from 0
fmcp_text fmcp_http_part_header_name(const fmcp_http_part *part, size_t at);

// The value of a header field; none where there is no such field. Lives as long as the part.
//
// \param at the field's number, from 0
fmcp_text fmcp_http_part_header_value(const fmcp_http_part *part, size_t at);

// Bytes of the body, which are to be sent at once; none where this part has none. Lives as long as the part.
fmcp_text fmcp_http_part_body(const fmcp_http_part *part);

// Whether nothing follows.
bool fmcp_http_part_is_last(const fmcp_http_part *part);

// Whether the response was given up: it is not complete, and its connection is to be broken off, so that the client sees it.
// Such a part is the last, and may be the first.
bool fmcp_http_part_is_aborted(const fmcp_http_part *part);

// Frees a part. NULL does nothing.
void fmcp_http_part_free(fmcp_http_part *part);

// Reads one JSON-RPC message out of `len` bytes of UTF-8 JSON text; blanks and line ends around it are fine. On success
// `*out` is a new message. On FMCP_STATUS_PROTOCOL the error says what the peer should be told.
//
// \param bytes the text; not needed after the call; may be NULL when `len` is 0
// \param len   its length in bytes
// \param out   where to write the new message; required
// \param err   where to write what went wrong, or NULL
fmcp_status fmcp_message_parse(const uint8_t *bytes, size_t len, fmcp_message **out, fmcp_error **err);

// What the message is; FMCP_KIND_NONE for NULL.
fmcp_kind fmcp_message_kind(const fmcp_message *message);

// The id as JSON text, byte for byte as the peer wrote it: a string with its quotes, or an integer of any size. None for
// notifications, and for an error response that answers a message whose id could not be read. Lives as long as the message.
fmcp_text fmcp_message_id(const fmcp_message *message);

// The method, decoded; none for responses. Lives as long as the message.
fmcp_text fmcp_message_method(const fmcp_message *message);

// The parameters as JSON text, as the peer wrote them. Lives as long as the message.
fmcp_text fmcp_message_params(const fmcp_message *message);

// A response's result as JSON text, as the peer wrote it. Lives as long as the message.
fmcp_text fmcp_message_result(const fmcp_message *message);

// A response's error object as JSON text, as the peer wrote it. Lives as long as the message.
fmcp_text fmcp_message_error(const fmcp_message *message);

// Frees a message, and with it every text that was asked from it. NULL does nothing.
void fmcp_message_free(fmcp_message *message);

// Adds a page that a host shows beside a tool (extension `io.modelcontextprotocol/ui`), as a resource that needs no handler, and
// declares the extension. A tool points at it in its definition: `"_meta":{"ui":{"resourceUri":"ui://..."}}`. Clients without the
// extension don't see the page, so the tool says in its content what it shows. The server must not run yet.
//
// \param uri  begins with ui://
// \param name what lists of resources call it
// \param html the page. Hosts may keep it, so what changes belongs into the tool's result.
// \param ui   the JSON text of what the page needs of its host (`csp`, `permissions`, ...), or none
fmcp_status fmcp_server_add_app_view(fmcp_server *server,
                                     fmcp_text uri,
                                     fmcp_text name,
                                     fmcp_text html,
                                     fmcp_text ui,
                                     fmcp_error **err);

// Makes a server of this name and version, without tools, that can log; everything else is as the defaults say.
//
// \param out where to write the new server; required
fmcp_status fmcp_server_new(fmcp_text name, fmcp_text version, fmcp_server **out, fmcp_error **err);

// Makes a server from a configuration: a JSON object with `info` (an `Implementation`: name and version), and, all
// optional, `instructions`, `capabilities`, `revisions`, `pageSize`, `cache`, `outputValidation`, `identify`, `delegate`,
// `delegateRefusals`, `extraMethods`, `catalogue`, `stateKeys`, `tasks` and `limits`. Where it has no
// `capabilities` handlers may log, as with fmcp_server_new(); one that has them says `"logging":{}` in it.
//
// \param out where to write the new server; required
fmcp_status fmcp_server_from_config(fmcp_text config,
                                    fmcp_server **out,
                                    fmcp_error **err);

// Adds a tool. A server that runs tells its clients.
//
// \param definition the JSON text of a `Tool`, as the newest revision writes it; clients of older ones get it in theirs
// \param handler    what answers its calls; required
// \param user_data  passed to the handler; taken over on FMCP_STATUS_OK only
// \param destroy    called with user_data when the server is freed and no call of the handler runs any more; or NULL
fmcp_status fmcp_server_add_tool(fmcp_server *server,
                                 fmcp_text definition,
                                 fmcp_call_handler handler,
                                 void *user_data,
                                 fmcp_destroy destroy,
                                 fmcp_error **err);

// Adds a resource. A server that runs tells its clients.
//
// \param definition the JSON text of a `Resource`
// \param handler    what answers its calls; required
// \param user_data  passed to the handler; taken over on FMCP_STATUS_OK only
// \param destroy    called with user_data when the server is freed and no call of the handler runs any more; or NULL
fmcp_status fmcp_server_add_resource(fmcp_server *server,
                                     fmcp_text definition,
                                     fmcp_call_handler handler,
                                     void *user_data,
                                     fmcp_destroy destroy,
                                     fmcp_error **err);

// Adds a resource template; fmcp_call_variable() has what a URI gives its variables. A server that runs tells its clients.
//
// \param definition the JSON text of a `ResourceTemplate`
// \param handler    what answers its calls; required
// \param user_data  passed to the handler; taken over on FMCP_STATUS_OK only
// \param destroy    called with user_data when the server is freed and no call of the handler runs any more; or NULL
fmcp_status fmcp_server_add_resource_template(fmcp_server *server,
                                              fmcp_text definition,
                                              fmcp_call_handler handler,
                                              void *user_data,
                                              fmcp_destroy destroy,
                                              fmcp_error **err);

// Adds a prompt. A server that runs tells its clients.
//
// \param definition the JSON text of a `Prompt`
// \param handler    what answers its calls; required
// \param user_data  passed to the handler; taken over on FMCP_STATUS_OK only
// \param destroy    called with user_data when the server is freed and no call of the handler runs any more; or NULL
fmcp_status fmcp_server_add_prompt(fmcp_server *server,
                                   fmcp_text definition,
                                   fmcp_call_handler handler,
                                   void *user_data,
                                   fmcp_destroy destroy,
                                   fmcp_error **err);

// Adds what completes an argument of a prompt, or a variable of a resource template, that was added before. The handler
// answers with fmcp_call_respond_completion(). The server must not run yet.
//
// \param of        the prompt's name or the resource template's text
// \param argument  the argument's or variable's name
// \param handler   what answers; required
// \param user_data passed to the handler; taken over on FMCP_STATUS_OK only
// \param destroy   called with user_data when the server is freed and no call of the handler runs any more; or NULL
fmcp_status fmcp_server_add_completion(fmcp_server *server,
                                       fmcp_text of,
                                       fmcp_text argument,
                                       fmcp_call_handler handler,
                                       void *user_data,
                                       fmcp_destroy destroy,
                                       fmcp_error **err);

// Sets what answers everything that no other handler does: the methods that the configuration delegates or adds
// (`delegate`, `extraMethods`, `catalogue`). In the place of an earlier one, which is destroyed.
//
// \param handler   what answers; required
// \param user_data passed to the handler; taken over on FMCP_STATUS_OK only
// \param destroy   called with user_data when the server is freed and no call of the handler runs any more; or NULL
fmcp_status fmcp_server_set_delegate(fmcp_server *server,
                                     fmcp_call_handler handler,
                                     void *user_data,
                                     fmcp_destroy destroy,
                                     fmcp_error **err);

// Says what becomes of a handler while a client of revision 2026-07-28 or later is asked by fmcp_call_ask() and its like: it
// runs again (FMCP_REENTRY_REPLAY, the default) or waits (FMCP_REENTRY_HELD). Older clients are always waited for. Calls that
// run already stay as they are.
//
// \param target  an fmcp_target: what kind of handler it is; FMCP_TARGET_DELEGATED for that of fmcp_server_set_delegate()
// \param name    the name, URI or URI template of its definition; none for the delegate
// \param reentry an fmcp_reentry
fmcp_status fmcp_server_set_reentry(fmcp_server *server,
                                    int32_t target,
                                    fmcp_text name,
                                    int32_t reentry,
                                    fmcp_error **err);

// Takes new keys in the place of the configuration's `stateKeys`, newest first: the first seals what goes through clients
// while they are asked, all of them open it. At any time.
//
// \param keys  texts, each 32 bytes in base64; may be NULL when `count` is 0: then the server seals with a key of its own
// \param count how many there are
fmcp_status fmcp_server_set_state_keys(fmcp_server *server,
                                       const fmcp_text *keys,
                                       size_t count,
                                       fmcp_error **err);

// Removes a tool by its name. Calls of it that run go on; its user data is destroyed with the server.
fmcp_status fmcp_server_remove_tool(fmcp_server *server, fmcp_text name, fmcp_error **err);

// Removes a resource by its URI. Calls of it that run go on; its user data is destroyed with the server.
fmcp_status fmcp_server_remove_resource(fmcp_server *server, fmcp_text uri, fmcp_error **err);

// Removes a resource template by its text. Calls of it that run go on; its user data is destroyed with the server.
fmcp_status fmcp_server_remove_resource_template(fmcp_server *server, fmcp_text uri_template, fmcp_error **err);

// Removes a prompt by its name. Calls of it that run go on; its user data is destroyed with the server.
fmcp_status fmcp_server_remove_prompt(fmcp_server *server, fmcp_text name, fmcp_error **err);

// Says that a resource has changed: clients that watch it are told.
fmcp_status fmcp_server_resource_updated(fmcp_server *server, fmcp_text uri, fmcp_error **err);

// Says that a visit to a URL is complete: the client that was asked for it under this elicitationId is told, once; where none
// was, nobody is (2025-11-25 client/elicitation, "Completion Notifications for URL Mode Elicitation"). The call that asked may be
// over.
fmcp_status fmcp_server_complete_elicitation(fmcp_server *server,
                                             fmcp_text elicitation_id,
                                             fmcp_error **err);

// Frees a server. One that runs is stopped first, as by fmcp_server_stop(). User data of handlers is destroyed before this
// returns, but for handlers that are still inside a call. NULL does nothing.
void fmcp_server_free(fmcp_server *server);

// Shows a tool to clients, or hides it: a hidden one is in no list, and calling it is calling nothing. A server that runs tells
// its clients. Calls that run go on.
//
// \param name    the tool's name
// \param enabled whether clients see it; what was added is seen
fmcp_status fmcp_server_enable_tool(fmcp_server *server,
                                    fmcp_text name,
                                    bool enabled,
                                    fmcp_error **err);

// Shows a resource to clients, or hides it. As fmcp_server_enable_tool().
fmcp_status fmcp_server_enable_resource(fmcp_server *server, fmcp_text uri, bool enabled, fmcp_error **err);

// Shows a resource template to clients, or hides it. As fmcp_server_enable_tool().
fmcp_status fmcp_server_enable_resource_template(fmcp_server *server,
                                                 fmcp_text uri_template,
                                                 bool enabled,
                                                 fmcp_error **err);

// Shows a prompt to clients, or hides it. As fmcp_server_enable_tool().
fmcp_status fmcp_server_enable_prompt(fmcp_server *server, fmcp_text name, bool enabled, fmcp_error **err);

// Listens and serves whoever comes over HTTP (Streamable HTTP; clients of every revision at one address), and returns when
// fmcp_server_stop() was called. Where the address can't be had, it is FMCP_STATUS_IO. Which page or name may use the server, the
// options say: without any, only what runs on this machine. Standard output stays the program's.
//
// \param options a JSON object, or none for the defaults. Members of the listener: `host` ("127.0.0.1"), `port` (8000; 0 for any
//                that is free), `tlsCertFile` and `tlsKeyFile` (PEM), `maxConnections`, `headerTimeoutMs`,
//                `bodyTimeoutMs`, `shutdownMs`, `announce` (true: one line on standard error, "Listening on http://127.0.0.1:8000/mcp"). Of HTTP: those of fmcp_server_start_carrier(), with
//                `path` "/mcp". Beside them those of fmcp_server_run_stdio()
fmcp_status fmcp_server_run_http(fmcp_server *server,
                                 fmcp_text options,
                                 fmcp_error **err);

// The same without waiting: fmcp_server_wait() does. It listens already when this returns.
//
// \param options as of fmcp_server_run_http()
fmcp_status fmcp_server_start_http(fmcp_server *server, fmcp_text options, fmcp_error **err);

// Starts a server that listens to nothing, and returns: for a program that has an HTTP server. It brings each request with
// fmcp_http_admit(). fmcp_server_stop() ends it.
//
// \param options a JSON object, or none for the defaults: `path` ("/mcp"; null: any, where the program has chosen it already),
//                `allowedHosts`, `allowedOrigins`, `sessions`, `sessionIdleMs`, `sessionMaxMs`, `maxSessions`, `keepAliveMs`,
//                `strictAccept`, `maxBodyBytes`, `jsonResponse`, `legacySse`, `retryMs`, `maxEvents`, `maxEventBytes`,
//                `maxBacklogBytes`, `cluster`, `clusterName`. Beside them those of fmcp_server_run_stdio()
fmcp_status fmcp_server_start_carrier(fmcp_server *server,
                                      fmcp_text options,
                                      fmcp_error **err);

// What a server listens on: address and port, for example "127.0.0.1:8000". None where it does not listen. Lives as long as the
// server.
fmcp_text fmcp_server_address(const fmcp_server *server);

// The port that a server listens on: the one that was found where `port` was 0. 0 where it does not listen.
uint16_t fmcp_server_port(const fmcp_server *server);

// Puts two functions round every call of a handler: tools, resources, prompts, completions, methods of extensions. What is
// added first is the outermost; the policy is outside of all. What the library answers by itself does not come here: lists,
// arguments that do not fit. Both functions get the call to look at: fmcp_call_method(), fmcp_call_name(),
// fmcp_call_arguments() and the others that read; fmcp_call_key() is the same in both. The server must not run yet.
//
// \param before     called before the handler, on its thread; may refuse the call by fmcp_call_refuse() or fmcp_call_fail(),
//                   and lets it in if it does not. May be NULL
// \param after      called when a call has ended that `before` let in or was not asked about, be it refused further in; a
//                   moment after the answer. May be NULL where `before` is not
// \param wants_text whether `after` wants texts of answers, which are copied for it
// \param user_data  passed to both, which run on several threads; taken over on FMCP_STATUS_OK only
// \param destroy    called with user_data when the server is freed and neither function runs any more; or NULL
fmcp_status fmcp_server_add_middleware(fmcp_server *server,
                                       fmcp_call_handler before,
                                       fmcp_after_handler after,
                                       bool wants_text,
                                       void *user_data,
                                       fmcp_destroy destroy,
                                       fmcp_error **err);

// Sets what is told of each notification of a method that is none of MCP, as extensions bring them. In the place of an earlier
// one of this method, which is destroyed. At any time.
//
// \param method    the notification's method
// \param handler   what is told; required
// \param user_data passed to the handler; taken over on FMCP_STATUS_OK only
// \param destroy   called with user_data when the server is freed and the handler does not run any more; or NULL
fmcp_status fmcp_server_on_notification(fmcp_server *server,
                                        fmcp_text method,
                                        fmcp_notification_handler handler,
                                        void *user_data,
                                        fmcp_destroy destroy,
                                        fmcp_error **err);

// Serves the client at standard input and output, and returns when it is gone or fmcp_server_stop() was called. From its
// start on, whatever the process prints to standard output goes to standard error, for the rest of the process: the way to
// the client carries messages alone.
//
// \param options a JSON object with any of `maxThreads`, `takeoverUs`, `highWaterBytes`, `lingerMs`, `stackBytes` and `debug`,
//                or none for the defaults
fmcp_status fmcp_server_run_stdio(fmcp_server *server,
                                  fmcp_text options,
                                  fmcp_error **err);

// The same without waiting: fmcp_server_wait() does. The standard streams are given back by fmcp_server_stop().
//
// \param options as of fmcp_server_run_stdio()
fmcp_status fmcp_server_start_stdio(fmcp_server *server, fmcp_text options, fmcp_error **err);

// Serves the client at the other end of two descriptors (pipes, a socket and a duplicate of it, a terminal), without
// waiting: fmcp_server_wait() does. The descriptors stay yours, and may be closed as soon as this returns: the server
// works on duplicates.
//
// \param input   what the client sends is read here
// \param output  what the client gets is written here
// \param options as of fmcp_server_run_stdio()
fmcp_status fmcp_server_start_fds(fmcp_server *server,
                                  int32_t input,
                                  int32_t output,
                                  fmcp_text options,
                                  fmcp_error **err);

// Waits until the client is gone or the server was stopped. From several threads, if you like.
fmcp_status fmcp_server_wait(fmcp_server *server, fmcp_error **err);

// Ends a server that runs: subscriptions are ended, what is answered is sent, calls that run are told to stop and not
// waited for. From any thread or handler, but not from a signal handler. One that has ended already is fine.
fmcp_status fmcp_server_stop(fmcp_server *server, fmcp_error **err);

// Says where tasks are kept: "memory", which is the default, in this process alone; "sqlite:PATH", a file that survives it and
// that processes of one machine may share; "redis://HOST:PORT/DATABASE", a server for many machines. The server must not
// run yet. The store is opened when it starts, which fails with FMCP_STATUS_TASK_STORE where that can't be done.
fmcp_status fmcp_server_set_task_store(fmcp_server *server,
                                       fmcp_text url,
                                       fmcp_error **err);

// Sets limits, timeouts and the audit log of calls, in the place of an earlier policy. The server must not run yet. What can't
// be is refused here or when it starts, which is also when the audit log is opened.
//
// \param policy a JSON object with any of `rateLimits`, `concurrency`, `timeouts` and `audit`
fmcp_status fmcp_server_set_policy(fmcp_server *server,
                                   fmcp_text policy,
                                   fmcp_error **err);

// How the request ended; FMCP_OUTCOME_NONE for NULL.
fmcp_outcome fmcp_response_outcome(const fmcp_response *response);

// The result as JSON text, as the client wrote it; none without one.
fmcp_text fmcp_response_result(const fmcp_response *response);

// The code of the client's error; 0 without one.
int64_t fmcp_response_error_code(const fmcp_response *response);

// The message of the client's error; none without one.
fmcp_text fmcp_response_error_message(const fmcp_response *response);

// A zero-terminated string as a text, without its zero; no text for NULL. It points to the string, which stays yours.
fmcp_text fmcp_text_of(const char *terminated);

// The version of the library that is running, as "MAJOR.MINOR.PATCH" with a terminating zero. Compare it with
// FMCP_VERSION, the version of the header that the program was compiled with. The text lives for ever.
const char *fmcp_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FERROMCP_H */

/* No text. */
#define FMCP_NONE fmcp_text_of(NULL)

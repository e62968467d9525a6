/*
 * FerroMCP for C++17: objects with lifetimes, lambdas as handlers, exceptions out of errors, over ferromcp.h.
 *
 *     ferromcp::Server server("calculator", "1.0");
 *     server.tool(R"({"name":"add","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},
 *                     "b":{"type":"integer"}},"required":["a","b"]}})",
 *                 [](ferromcp::Call &call) { return std::to_string(call.integer("a") + call.integer("b")); });
 *     server.run_stdio();
 *
 * The conventions of ferromcp.h hold. What is different here:
 *
 * Ownership. Each object owns one handle, can be moved and not copied, and frees it at its end.
 *
 * Text. Parameters are std::string_view; where a parameter may be "none", its default says so. A std::string_view that a
 * function returns points into the object that it was asked from; one that may be missing is a std::optional.
 *
 * Errors. Every failure of the library is thrown as ferromcp::Error; one is a class of its own, ferromcp::CapabilityNotDeclared.
 *
 * Handlers. Anything that can be called with a Call &: what it returns as text is the answer; one that returns nothing
 * answers by itself, now or later. An exception that leaves a tool's handler is the tool's error, with what() for the model
 * to read; one that leaves any other handler is an internal error. ferromcp::MCPError is a JSON-RPC error in both, and
 * CapabilityNotDeclared tells the client which capability it lacks.
 * To answer later, move the call out of the handler: std::thread([call = std::move(call)] { call.respond("done"); }).
 *
 * Asking. Call::elicit() and its like give the client's answer as a value; what a user declines is an answer too. Where the
 * handler has to end and runs again with the answer, they throw ferromcp::Suspended: let it pass. It is no std::exception, so that
 * a handler that catches those to make errors of them does not catch it. After a catch (...) without a throw, nothing
 * that the handler does with the call has an effect.
 */
#ifndef FERROMCP_HPP
#define FERROMCP_HPP

#include "ferromcp.h"

#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ferromcp {

/* A text of the caller's for the library. */
inline fmcp_text to_c(std::string_view text) noexcept {
    // An empty view may have no data, and is a text all the same.
    return {text.data() != nullptr ? text.data() : "", text.size()};
}

/* The same for one that may be missing. */
inline fmcp_text maybe_to_c(std::optional<std::string_view> text) noexcept {
    return text ? to_c(*text) : fmcp_text{nullptr, 0};
}

/* A text of the library's; empty where there is none. */
inline std::string_view from_c(fmcp_text text) noexcept {
    return text.data != nullptr ? std::string_view(text.data, text.len) : std::string_view();
}

/* The same, where "none" is not the same as empty. */
inline std::optional<std::string_view> maybe_from_c(fmcp_text text) noexcept {
    return text.data != nullptr ? std::optional(std::string_view(text.data, text.len)) : std::nullopt;
}

/* What a function of the library could not do. */
class Error : public std::runtime_error {
public:
    Error(fmcp_status status, std::int64_t code, const std::string &text)
        : std::runtime_error(text), status_(status), code_(code) {}

    /* The status of the function that failed. */
    fmcp_status status() const noexcept { return status_; }

    /* JSON-RPC's code where the status is FMCP_STATUS_PROTOCOL, the client's own where it is FMCP_STATUS_NO_ANSWER; else 0. */
    std::int64_t code() const noexcept { return code_; }

private:
    fmcp_status status_;
    std::int64_t code_;
};

/* The client has not declared the capability for what it was to be asked. */
class CapabilityNotDeclared : public Error {
public:
    CapabilityNotDeclared(const std::string &text, std::string capability)
        : Error(FMCP_STATUS_CAPABILITY_NOT_DECLARED, 0, text), capability_(std::move(capability)) {}

    /* What it would have to declare, for example "elicitation.url". */
    std::string_view capability() const noexcept { return capability_; }

private:
    std::string capability_;
};

/* The client is asked, and the handler runs again from its start when it has answered: this run has to end. No failure, and
 * so no std::exception: it is to pass by whoever catches those. */
struct Suspended {};

/* Thrown out of a handler: a JSON-RPC error as the answer, for what a model can't mend. */
class MCPError : public std::runtime_error {
public:
    MCPError(std::int64_t code, const std::string &message, std::optional<std::string> data = std::nullopt)
        : std::runtime_error(message), code_(code), data_(std::move(data)) {}

    std::int64_t code() const noexcept { return code_; }

    /* The JSON text of the error's `data`. */
    std::optional<std::string_view> data() const noexcept {
        return data_ ? std::optional<std::string_view>(*data_) : std::nullopt;
    }

private:
    std::int64_t code_;
    std::optional<std::string> data_;
};

namespace detail {

/* Owns a handle, and gives it back to `free`. */
template <class T, void (*free)(T *)>
struct Free {
    void operator()(T *handle) const noexcept { free(handle); }
};
template <class T, void (*free)(T *)>
using Handle = std::unique_ptr<T, Free<T, free>>;

/* Runs a function of the library, which gets a place for its error, and throws that error. */
template <class F>
void run(F &&function) {
    fmcp_error *error = nullptr;
    const fmcp_status status = function(&error);
    if (status == FMCP_STATUS_OK) {
        return;
    }
    const Handle<fmcp_error, fmcp_error_free> owned(error);
    if (status == FMCP_STATUS_SUSPENDED) {
        throw Suspended();
    }
    const std::string text(from_c(fmcp_error_text(error)));
    if (status == FMCP_STATUS_CAPABILITY_NOT_DECLARED) {
        throw CapabilityNotDeclared(text, std::string(from_c(fmcp_error_capability(error))));
    }
    throw Error(status, fmcp_error_code(error), text);
}

} // namespace detail

/* One thing to ask of a client, as fmcp_input_request has it. */
struct InputRequest {
    std::string_view key, method, params;
};

/* What a user did with a question, and what was filled in: the JSON text of an object that fits the form's schema. */
struct ElicitResult {
    fmcp_action action;
    std::optional<std::string> content;
};

/* What a client has answered to one question. */
struct Answer {
    fmcp_outcome outcome;
    /* Of an elicitation. */
    ElicitResult elicit;
    /* The whole result as JSON text; empty without one. */
    std::string result;
    /* The client's error; an invalid result has a message too. */
    std::int64_t error_code;
    std::string error_message;
};

/* What has come of questions that nobody waits for: their answers, or the number under which an event brings them. */
struct Asked {
    std::optional<std::vector<Answer>> answers;
    std::uint64_t ask;
};

namespace detail {

/* Copies answers out of the library's object, which stays whose it is. */
inline std::vector<Answer> copy(const fmcp_answers *answers) {
    std::vector<Answer> copied(fmcp_answers_count(answers));
    for (std::size_t at = 0; at < copied.size(); at++) {
        const auto content = maybe_from_c(fmcp_answers_content(answers, at));
        copied[at] = {fmcp_answers_outcome(answers, at),
                      {fmcp_answers_action(answers, at), content ? std::optional<std::string>(*content) : std::nullopt},
                      std::string(from_c(fmcp_answers_result(answers, at))),
                      fmcp_answers_error_code(answers, at),
                      std::string(from_c(fmcp_answers_error_message(answers, at)))};
    }
    return copied;
}

/* Runs a function that asks the client and waits. */
template <class F>
std::vector<Answer> ask(F &&function) {
    fmcp_answers *answers = nullptr;
    run([&](fmcp_error **error) { return function(&answers, error); });
    const Handle<fmcp_answers, fmcp_answers_free> owned(answers);
    return copy(answers);
}

inline std::vector<fmcp_input_request> all_to_c(const std::vector<InputRequest> &requests) {
    std::vector<fmcp_input_request> converted;
    converted.reserve(requests.size());
    for (const InputRequest &request : requests) {
        // What is empty is none: neither a key nor parameters can be.
        const auto part = [](std::string_view text) {
            return text.empty() ? fmcp_text{nullptr, 0} : to_c(text);
        };
        converted.push_back({part(request.key), to_c(request.method), part(request.params)});
    }
    return converted;
}

inline std::vector<fmcp_text> all_to_c(const std::vector<std::string_view> &texts) {
    std::vector<fmcp_text> converted;
    converted.reserve(texts.size());
    for (const std::string_view text : texts) {
        converted.push_back(to_c(text));
    }
    return converted;
}

} // namespace detail

/* The answer of a client to a question of Call::request(). It lives until the handler returns. */
class Response {
public:
    explicit Response(const fmcp_response *response) noexcept : response_(response) {}

    fmcp_outcome outcome() const noexcept { return fmcp_response_outcome(response_); }

    /* The result as JSON text; nothing where there is none. */
    std::optional<std::string_view> result() const noexcept { return maybe_from_c(fmcp_response_result(response_)); }

    std::int64_t error_code() const noexcept { return fmcp_response_error_code(response_); }

    std::string_view error_message() const noexcept { return from_c(fmcp_response_error_message(response_)); }

private:
    const fmcp_response *response_;
};

/* A request that is to be answered, once. The last share of a call that is let go unanswered answers it with an error. */
class Call {
public:
    /* Takes a share of a call that somebody else holds. */
    explicit Call(fmcp_call *call) noexcept : call_(fmcp_call_retain(call)) {}

    /* Another share of this call. */
    Call share() const noexcept { return Call(call_.get()); }

    fmcp_call *get() const noexcept { return call_.get(); }

    // What it says of itself.

    fmcp_target target() const noexcept { return fmcp_call_target(get()); }
    std::uint64_t tag() const noexcept { return fmcp_call_tag(get()); }
    std::uint64_t key() const noexcept { return fmcp_call_key(get()); }
    std::uint32_t stream() const noexcept { return fmcp_call_stream(get()); }
    std::string_view method() const noexcept { return from_c(fmcp_call_method(get())); }
    std::string_view id() const noexcept { return from_c(fmcp_call_id(get())); }
    std::string_view protocol_version() const noexcept { return from_c(fmcp_call_protocol_version(get())); }
    std::optional<std::string_view> params() const noexcept { return maybe_from_c(fmcp_call_params(get())); }
    std::optional<std::string_view> meta() const noexcept { return maybe_from_c(fmcp_call_meta(get())); }
    std::optional<std::string_view> client_info() const noexcept { return maybe_from_c(fmcp_call_client_info(get())); }
    std::string_view client_capabilities() const noexcept { return from_c(fmcp_call_client_capabilities(get())); }
    bool is_cancelled() const noexcept { return fmcp_call_is_cancelled(get()); }

    /* Why nobody waits for the answer, for a person; nothing while somebody does. */
    std::optional<std::string_view> cancel_reason() const noexcept {
        return maybe_from_c(fmcp_call_cancel_reason(get()));
    }

    /* The id of the task that the call is; nothing where it is none. */
    std::optional<std::string_view> task_id() const noexcept { return maybe_from_c(fmcp_call_task_id(get())); }

    /* Turns the call of a tool into a task. False where its client takes none, and the call goes on as it is. In a loop of one's
     * own: whether FMCP_EVENT_TASK_BEGUN will come. */
    bool begin_task() const {
        bool begun = false;
        detail::run([&](fmcp_error **error) { return fmcp_call_begin_task(get(), &begun, error); });
        return begun;
    }

    /* The URI of a resource that is read. */
    std::string_view uri() const noexcept { return from_c(fmcp_call_uri(get())); }

    /* What the URI gave a variable of the resource template. */
    std::optional<std::string_view> variable(const char *name) const noexcept {
        return maybe_from_c(fmcp_call_variable(get(), name));
    }

    std::string_view completion_argument() const noexcept { return from_c(fmcp_call_completion_argument(get())); }
    std::string_view completion_value() const noexcept { return from_c(fmcp_call_completion_value(get())); }

    // Its arguments. Those that are not there, or of another type, are errors.

    /* All of them as JSON text. */
    std::string_view arguments() const noexcept { return from_c(fmcp_call_arguments(get())); }

    /* One as JSON text; nothing where it is not there. */
    std::optional<std::string_view> argument(const char *name) const noexcept {
        return maybe_from_c(fmcp_call_argument(get(), name));
    }

    std::string_view string(const char *name) const {
        fmcp_text value = {nullptr, 0};
        detail::run([&](fmcp_error **error) { return fmcp_call_string(get(), name, &value, error); });
        return from_c(value);
    }

    std::int64_t integer(const char *name) const {
        std::int64_t value = 0;
        detail::run([&](fmcp_error **error) { return fmcp_call_integer(get(), name, &value, error); });
        return value;
    }

    double number(const char *name) const {
        double value = 0;
        detail::run([&](fmcp_error **error) { return fmcp_call_number(get(), name, &value, error); });
        return value;
    }

    bool boolean(const char *name) const {
        bool value = false;
        detail::run([&](fmcp_error **error) { return fmcp_call_boolean(get(), name, &value, error); });
        return value;
    }

    // What may be said before the answer.

    void report_progress(double progress, std::optional<double> total = std::nullopt,
                  std::optional<std::string_view> message = std::nullopt) const {
        detail::run([&](fmcp_error **error) {
            return fmcp_call_report_progress(get(), progress, total ? *total : std::nan(""), maybe_to_c(message), error);
        });
    }

    void log(fmcp_log_level level, std::string_view text) const {
        detail::run([&](fmcp_error **error) { return fmcp_call_log(get(), level, to_c(text), error); });
    }

    void log_json(fmcp_log_level level, std::optional<std::string_view> logger, std::string_view data) const {
        detail::run([&](fmcp_error **error) {
            return fmcp_call_log_json(get(), level, maybe_to_c(logger), to_c(data), error);
        });
    }

    void notify(std::string_view method, std::optional<std::string_view> params = std::nullopt) const {
        detail::run([&](fmcp_error **error) { return fmcp_call_notify(get(), to_c(method), maybe_to_c(params), error); });
    }

    // Asking the client, and waiting; for handlers of a Server. Throws Suspended where the handler has to end and runs again,
    // CapabilityNotDeclared, and Error with FMCP_STATUS_NO_ANSWER. A key finds the answer again in the next run; without
    // one questions are counted.

    /* Asks the user by a form; `schema` is a flat JSON Schema. */
    ElicitResult elicit(std::string_view message, std::string_view schema,
                        std::optional<std::string_view> key = std::nullopt) const {
        return first([&](fmcp_answers **answers, fmcp_error **error) {
                   return fmcp_call_elicit(get(), to_c(message), to_c(schema), maybe_to_c(key), answers, error);
               })
            .elicit;
    }

    /* Asks the user to visit a URL. Accepting means to agree to go there. */
    ElicitResult elicit_url(std::string_view message, std::string_view url,
                            std::optional<std::string_view> key = std::nullopt) const {
        return first([&](fmcp_answers **answers, fmcp_error **error) {
                   return fmcp_call_elicit_url(get(), to_c(message), to_c(url), maybe_to_c(key), answers, error);
               })
            .elicit;
    }

    /* Asks the client's language model; parameters and result are JSON text. */
    std::string sample(std::string_view params, std::optional<std::string_view> key = std::nullopt) const {
        return first([&](fmcp_answers **answers, fmcp_error **error) {
                   return fmcp_call_sample(get(), to_c(params), maybe_to_c(key), answers, error);
               })
            .result;
    }

    /* Asks which folders and files the client works on: the JSON text of a ListRootsResult. */
    std::string list_roots(std::optional<std::string_view> key = std::nullopt) const {
        return first([&](fmcp_answers **answers, fmcp_error **error) {
                   return fmcp_call_list_roots(get(), maybe_to_c(key), answers, error);
               })
            .result;
    }

    /* Asks several things in one round; the answers come in the order of the requests. */
    std::vector<Answer> ask(const std::vector<InputRequest> &requests) const {
        const auto converted = detail::all_to_c(requests);
        return detail::ask([&](fmcp_answers **answers, fmcp_error **error) {
            return fmcp_call_ask(get(), converted.data(), converted.size(), answers, error);
        });
    }

    /* The same without waiting, in a loop of one's own: see fmcp_call_begin_ask(). */
    Asked begin_ask(const std::vector<InputRequest> &requests, fmcp_reentry reentry = FMCP_REENTRY_REPLAY,
                    std::int64_t timeout_ms = -1) const {
        const auto converted = detail::all_to_c(requests);
        std::uint64_t key = 0;
        fmcp_answers *answers = nullptr;
        detail::run([&](fmcp_error **error) {
            return fmcp_call_begin_ask(get(), converted.data(), converted.size(), reentry, timeout_ms, &key, &answers, error);
        });
        if (answers == nullptr) {
            return {std::nullopt, key};
        }
        const detail::Handle<fmcp_answers, fmcp_answers_free> owned(answers);
        return {detail::copy(answers), 0};
    }

    // Asking by hand: answering with questions, and being called again with what was said.

    void input_required(std::optional<std::string_view> requests, std::optional<std::string_view> state = std::nullopt) const {
        detail::run([&](fmcp_error **error) {
            return fmcp_call_input_required(get(), maybe_to_c(requests), maybe_to_c(state), error);
        });
    }

    std::optional<std::string_view> input_responses() const noexcept {
        return maybe_from_c(fmcp_call_input_responses(get()));
    }

    std::optional<std::string_view> request_state() const noexcept { return maybe_from_c(fmcp_call_request_state(get())); }

    /* Sends the client a request of any method; `handler` gets a const Response &, once, and must return soon. */
    template <class F>
    void request(std::string_view method, std::optional<std::string_view> params, F handler,
                 std::int64_t timeout_ms = -1) const {
        auto held = std::make_unique<F>(std::move(handler));
        detail::run([&](fmcp_error **error) {
            const auto respond = [](const fmcp_response *response, void *user_data) {
                try {
                    (*static_cast<F *>(user_data))(Response(response));
                } catch (...) { // There is nobody to throw it to.
                }
            };
            const auto destroy = [](void *user_data) { delete static_cast<F *>(user_data); };
            return fmcp_call_request(get(), to_c(method), maybe_to_c(params), timeout_ms, respond, held.get(), destroy, error);
        });
        held.release();
    }

    // The answer.

    void respond(std::string_view text) const {
        detail::run([&](fmcp_error **error) { return fmcp_call_respond_text(get(), to_c(text), error); });
    }

    void tool_error(std::string_view text) const {
        detail::run([&](fmcp_error **error) { return fmcp_call_tool_error(get(), to_c(text), error); });
    }

    /* A tool's answer as JSON text: content blocks, a structured value, `_meta`. */
    void respond_tool(std::optional<std::string_view> content, std::optional<std::string_view> structured = std::nullopt,
                      bool is_error = false, std::optional<std::string_view> meta = std::nullopt) const {
        detail::run([&](fmcp_error **error) {
            return fmcp_call_respond_tool(get(), maybe_to_c(content), maybe_to_c(structured), is_error, maybe_to_c(meta),
                                          error);
        });
    }

    void respond_contents(std::string_view contents) const {
        detail::run([&](fmcp_error **error) { return fmcp_call_respond_contents(get(), to_c(contents), error); });
    }

    void respond_prompt(std::optional<std::string_view> description, std::string_view messages) const {
        detail::run([&](fmcp_error **error) {
            return fmcp_call_respond_prompt(get(), maybe_to_c(description), to_c(messages), error);
        });
    }

    void respond_completion(std::string_view values, std::optional<std::int64_t> total = std::nullopt,
                            std::optional<bool> has_more = std::nullopt) const {
        detail::run([&](fmcp_error **error) {
            return fmcp_call_respond_completion(get(), to_c(values), total.value_or(-1), has_more ? *has_more : -1, error);
        });
    }

    void respond_result(std::string_view result) const {
        detail::run([&](fmcp_error **error) { return fmcp_call_respond_result(get(), to_c(result), error); });
    }

    void fail(std::int64_t code, std::string_view message, std::optional<std::string_view> data = std::nullopt) const {
        detail::run([&](fmcp_error **error) { return fmcp_call_fail(get(), code, to_c(message), maybe_to_c(data), error); });
    }

    void fail_not_found() const {
        detail::run([&](fmcp_error **error) { return fmcp_call_fail_not_found(get(), error); });
    }

    /* Tells the client which capability it lacks, for example "sampling". */
    void fail_capability(std::string_view capability) const {
        detail::run([&](fmcp_error **error) { return fmcp_call_fail_capability(get(), to_c(capability), error); });
    }

private:
    template <class F>
    static Answer first(F &&function) {
        return std::move(detail::ask(std::forward<F>(function)).at(0));
    }

    detail::Handle<fmcp_call, fmcp_call_free> call_;
};

namespace detail {

/* Tells the client of an exception. Where the call is answered already there is nothing to tell. */
inline void report(fmcp_call *call, const char *what) noexcept {
    if (fmcp_call_target(call) == FMCP_TARGET_TOOL) {
        fmcp_call_tool_error(call, to_c(what), nullptr);
    } else {
        fmcp_call_fail(call, FMCP_CODE_INTERNAL_ERROR, to_c(what), fmcp_text{nullptr, 0}, nullptr);
    }
}

/* Runs a handler for C: nothing is thrown out of it. */
template <class F>
void handle(fmcp_call *borrowed, void *user_data) noexcept {
    try {
        Call call(borrowed);
        F &handler = *static_cast<F *>(user_data);
        if constexpr (std::is_void_v<std::invoke_result_t<F &, Call &>>) {
            handler(call);
        } else {
            const auto answer = handler(call);
            // Through the library's own share: a handler may have moved the call away.
            run([&](fmcp_error **error) { return fmcp_call_respond_text(borrowed, to_c(std::string_view(answer)), error); });
        }
    } catch (const Suspended &) { // The client is asked; there is nothing to say.
    } catch (const CapabilityNotDeclared &error) {
        fmcp_call_fail_capability(borrowed, to_c(error.capability()), nullptr);
    } catch (const MCPError &error) {
        fmcp_call_fail(borrowed, error.code(), to_c(error.what()), maybe_to_c(error.data()), nullptr);
    } catch (const std::exception &error) {
        report(borrowed, error.what());
    } catch (...) {
        report(borrowed, "The handler threw something that is no std::exception.");
    }
}

/* Passes a handler to one of the functions that take one; it is destroyed with the server. */
template <class F, class Add>
void give(F handler, Add &&add) {
    static_assert(std::is_invocable_v<F &, Call &>, "a handler is called with a Call &");
    auto held = std::make_unique<F>(std::move(handler));
    run([&](fmcp_error **error) {
        return add(&handle<F>, held.get(), [](void *user_data) { delete static_cast<F *>(user_data); }, error);
    });
    held.release();
}

} // namespace detail

/* A server with handlers, and the ready-made loop. */
class Server {
public:
    Server(std::string_view name, std::string_view version) {
        detail::run([&](fmcp_error **error) {
            fmcp_server *server = nullptr;
            const fmcp_status status = fmcp_server_new(to_c(name), to_c(version), &server, error);
            server_.reset(server);
            return status;
        });
    }

    /* From the JSON text of a configuration. */
    static Server from_config(std::string_view config) {
        Server made;
        detail::run([&](fmcp_error **error) {
            fmcp_server *server = nullptr;
            const fmcp_status status = fmcp_server_from_config(to_c(config), &server, error);
            made.server_.reset(server);
            return status;
        });
        return made;
    }

    fmcp_server *get() const noexcept { return server_.get(); }

    template <class F>
    Server &tool(std::string_view definition, F handler) {
        return add(fmcp_server_add_tool, definition, std::move(handler));
    }

    template <class F>
    Server &resource(std::string_view definition, F handler) {
        return add(fmcp_server_add_resource, definition, std::move(handler));
    }

    template <class F>
    Server &resource_template(std::string_view definition, F handler) {
        return add(fmcp_server_add_resource_template, definition, std::move(handler));
    }

    template <class F>
    Server &prompt(std::string_view definition, F handler) {
        return add(fmcp_server_add_prompt, definition, std::move(handler));
    }

    /* What completes an argument of a prompt, or a variable of a resource template. */
    template <class F>
    Server &completion(std::string_view of, std::string_view argument, F handler) {
        detail::give(std::move(handler), [&](auto function, void *data, auto destroy, fmcp_error **error) {
            return fmcp_server_add_completion(get(), to_c(of), to_c(argument), function, data, destroy, error);
        });
        return *this;
    }

    /* What answers everything that no other handler does. */
    template <class F>
    Server &delegate(F handler) {
        detail::give(std::move(handler), [&](auto function, void *data, auto destroy, fmcp_error **error) {
            return fmcp_server_set_delegate(get(), function, data, destroy, error);
        });
        return *this;
    }

    /* What becomes of a handler while a modern client is asked; `name` is that of its definition, or its URI. */
    Server &set_reentry(fmcp_target target, std::optional<std::string_view> name, fmcp_reentry reentry) {
        detail::run([&](fmcp_error **error) {
            return fmcp_server_set_reentry(get(), target, maybe_to_c(name), reentry, error);
        });
        return *this;
    }

    /* New keys in base64, newest first, in the place of the configuration's `stateKeys`. */
    void set_state_keys(const std::vector<std::string_view> &keys) {
        const auto converted = detail::all_to_c(keys);
        detail::run([&](fmcp_error **error) {
            return fmcp_server_set_state_keys(get(), converted.data(), converted.size(), error);
        });
    }

    /* Where tasks are kept: "memory", "sqlite:PATH" or "redis://HOST:PORT/DATABASE". Before the server runs. */
    Server &set_task_store(std::string_view url) {
        command(fmcp_server_set_task_store, url);
        return *this;
    }

    /* Limits, timeouts and the audit log, as the JSON text of a policy. Before the server runs. */
    Server &set_policy(std::string_view policy) {
        command(fmcp_server_set_policy, policy);
        return *this;
    }

    void remove_tool(std::string_view name) { command(fmcp_server_remove_tool, name); }
    void remove_resource(std::string_view uri) { command(fmcp_server_remove_resource, uri); }
    void remove_resource_template(std::string_view text) { command(fmcp_server_remove_resource_template, text); }
    void remove_prompt(std::string_view name) { command(fmcp_server_remove_prompt, name); }

    /* Whether clients see a definition; what was added is seen. */
    void enable_tool(std::string_view name, bool enabled) { command(fmcp_server_enable_tool, name, enabled); }
    void enable_resource(std::string_view uri, bool enabled) { command(fmcp_server_enable_resource, uri, enabled); }
    void enable_resource_template(std::string_view text, bool enabled) {
        command(fmcp_server_enable_resource_template, text, enabled);
    }
    void enable_prompt(std::string_view name, bool enabled) { command(fmcp_server_enable_prompt, name, enabled); }

    void resource_updated(std::string_view uri) { command(fmcp_server_resource_updated, uri); }

    /* Serves standard input and output until the client is gone or stop() is called. */
    void run_stdio(std::optional<std::string_view> options = std::nullopt) {
        detail::run([&](fmcp_error **error) { return fmcp_server_run_stdio(get(), maybe_to_c(options), error); });
    }

    void start_stdio(std::optional<std::string_view> options = std::nullopt) {
        detail::run([&](fmcp_error **error) { return fmcp_server_start_stdio(get(), maybe_to_c(options), error); });
    }

    void start_fds(int input, int output, std::optional<std::string_view> options = std::nullopt) {
        detail::run([&](fmcp_error **error) {
            return fmcp_server_start_fds(get(), input, output, maybe_to_c(options), error);
        });
    }

    void wait() {
        detail::run([&](fmcp_error **error) { return fmcp_server_wait(get(), error); });
    }

    void stop() {
        detail::run([&](fmcp_error **error) { return fmcp_server_stop(get(), error); });
    }

private:
    Server() = default;

    template <class Add, class F>
    Server &add(Add *to, std::string_view definition, F handler) {
        detail::give(std::move(handler), [&](auto function, void *data, auto destroy, fmcp_error **error) {
            return to(get(), to_c(definition), function, data, destroy, error);
        });
        return *this;
    }

    template <class Command, class... Rest>
    void command(Command *function, std::string_view text, Rest... rest) {
        detail::run([&](fmcp_error **error) { return function(get(), to_c(text), rest..., error); });
    }

    detail::Handle<fmcp_server, fmcp_server_free> server_;
};

/* Something that an engine wants done. */
class Output {
public:
    /* Takes a handle over. */
    explicit Output(fmcp_output *output) noexcept : output_(output) {}

    fmcp_output *get() const noexcept { return output_.get(); }
    fmcp_event event() const noexcept { return fmcp_output_event(get()); }
    std::uint32_t stream() const noexcept { return fmcp_output_stream(get()); }
    std::uint64_t key() const noexcept { return fmcp_output_key(get()); }
    std::string_view text() const noexcept { return from_c(fmcp_output_text(get())); }
    std::optional<std::string_view> params() const noexcept { return maybe_from_c(fmcp_output_params(get())); }
    fmcp_diagnostic diagnostic() const noexcept { return fmcp_output_diagnostic(get()); }

    /* With FMCP_EVENT_ANSWERS: to which questions, and what was said. */
    std::uint64_t ask() const noexcept { return fmcp_output_ask(get()); }
    std::vector<Answer> answers() const { return detail::copy(fmcp_output_answers(get())); }

    /* A share of the call of FMCP_EVENT_CALL. */
    Call call() const noexcept { return Call(fmcp_output_call(get())); }

private:
    detail::Handle<fmcp_output, fmcp_output_free> output_;
};

/* An MCP server without input, output, clock and threads. Times are milliseconds on a clock of the caller's. */
class Engine {
public:
    /* From the JSON text of a configuration. */
    explicit Engine(std::string_view config) {
        detail::run([&](fmcp_error **error) {
            fmcp_engine *engine = nullptr;
            const fmcp_status status = fmcp_engine_new(to_c(config), &engine, error);
            engine_.reset(engine);
            return status;
        });
    }

    fmcp_engine *get() const noexcept { return engine_.get(); }

    void add_tool(std::string_view definition, std::uint64_t tag, std::uint64_t now) {
        command(fmcp_engine_add_tool, definition, tag, now);
    }

    void add_resource(std::string_view definition, std::uint64_t tag, std::uint64_t now) {
        command(fmcp_engine_add_resource, definition, tag, now);
    }

    void add_resource_template(std::string_view definition, std::uint64_t tag, std::uint64_t now) {
        command(fmcp_engine_add_resource_template, definition, tag, now);
    }

    void add_prompt(std::string_view definition, std::uint64_t tag, std::uint64_t now) {
        command(fmcp_engine_add_prompt, definition, tag, now);
    }

    void remove_tool(std::string_view name, std::uint64_t now) { command(fmcp_engine_remove_tool, name, now); }
    void remove_resource(std::string_view uri, std::uint64_t now) { command(fmcp_engine_remove_resource, uri, now); }
    void remove_resource_template(std::string_view text, std::uint64_t now) {
        command(fmcp_engine_remove_resource_template, text, now);
    }
    void remove_prompt(std::string_view name, std::uint64_t now) { command(fmcp_engine_remove_prompt, name, now); }

    /* Whether clients see a definition; what was added is seen. */
    void enable_tool(std::string_view name, bool enabled, std::uint64_t now) {
        command(fmcp_engine_enable_tool, name, enabled, now);
    }
    void enable_resource(std::string_view uri, bool enabled, std::uint64_t now) {
        command(fmcp_engine_enable_resource, uri, enabled, now);
    }
    void enable_resource_template(std::string_view text, bool enabled, std::uint64_t now) {
        command(fmcp_engine_enable_resource_template, text, enabled, now);
    }
    void enable_prompt(std::string_view name, bool enabled, std::uint64_t now) {
        command(fmcp_engine_enable_prompt, name, enabled, now);
    }

    void resource_updated(std::string_view uri) {
        detail::run([&](fmcp_error **error) { return fmcp_engine_resource_updated(get(), to_c(uri), error); });
    }

    /* What UNIX time in milliseconds the clock's zero is. */
    void set_epoch(std::uint64_t unix_ms) {
        detail::run([&](fmcp_error **error) { return fmcp_engine_set_epoch(get(), unix_ms, error); });
    }

    /* New keys in base64, newest first, in the place of the configuration's `stateKeys`. */
    void set_state_keys(const std::vector<std::string_view> &keys) {
        const auto converted = detail::all_to_c(keys);
        detail::run([&](fmcp_error **error) {
            return fmcp_engine_set_state_keys(get(), converted.data(), converted.size(), error);
        });
    }

    /* Who is behind a stream, as far as that was verified. */
    void set_principal(std::uint32_t stream, std::optional<std::string_view> principal) {
        detail::run([&](fmcp_error **error) {
            return fmcp_engine_set_principal(get(), stream, maybe_to_c(principal), error);
        });
    }

    /* Opens a stream and gives its number. */
    std::uint32_t open(std::uint64_t now) {
        std::uint32_t stream = 0;
        detail::run([&](fmcp_error **error) { return fmcp_engine_open(get(), now, &stream, error); });
        return stream;
    }

    void receive(std::uint32_t stream, std::string_view bytes, std::uint64_t now) {
        const auto *data = reinterpret_cast<const std::uint8_t *>(bytes.data());
        detail::run([&](fmcp_error **error) {
            return fmcp_engine_receive(get(), stream, data, bytes.size(), now, error);
        });
    }

    void end_of_input(std::uint32_t stream, std::uint64_t now) {
        detail::run([&](fmcp_error **error) { return fmcp_engine_end_of_input(get(), stream, now, error); });
    }

    void close(std::uint32_t stream, std::uint64_t now) {
        detail::run([&](fmcp_error **error) { return fmcp_engine_close(get(), stream, now, error); });
    }

    void shutdown(std::uint64_t now) {
        detail::run([&](fmcp_error **error) { return fmcp_engine_shutdown(get(), now, error); });
    }

    /* The next output; nothing where there is none. */
    std::optional<Output> poll() {
        fmcp_output *output = nullptr;
        detail::run([&](fmcp_error **error) { return fmcp_engine_poll(get(), &output, error); });
        return output != nullptr ? std::optional<Output>(Output(output)) : std::nullopt;
    }

    /* When handle_timeout() wants to be called; nothing: never. */
    std::optional<std::uint64_t> poll_timeout() const noexcept {
        const std::uint64_t due = fmcp_engine_poll_timeout(get());
        return due != UINT64_MAX ? std::optional(due) : std::nullopt;
    }

    void handle_timeout(std::uint64_t now) {
        detail::run([&](fmcp_error **error) { return fmcp_engine_handle_timeout(get(), now, error); });
    }

private:
    template <class Command, class... Rest>
    void command(Command *function, std::string_view text, Rest... rest) {
        detail::run([&](fmcp_error **error) { return function(get(), to_c(text), rest..., error); });
    }

    detail::Handle<fmcp_engine, fmcp_engine_free> engine_;
};

/* One JSON-RPC message, read and looked at. */
class Message {
public:
    explicit Message(std::string_view text) {
        const auto *data = reinterpret_cast<const std::uint8_t *>(text.data());
        detail::run([&](fmcp_error **error) {
            fmcp_message *message = nullptr;
            const fmcp_status status = fmcp_message_parse(data, text.size(), &message, error);
            message_.reset(message);
            return status;
        });
    }

    fmcp_message *get() const noexcept { return message_.get(); }
    fmcp_kind kind() const noexcept { return fmcp_message_kind(get()); }
    std::optional<std::string_view> id() const noexcept { return maybe_from_c(fmcp_message_id(get())); }
    std::optional<std::string_view> method() const noexcept { return maybe_from_c(fmcp_message_method(get())); }
    std::optional<std::string_view> params() const noexcept { return maybe_from_c(fmcp_message_params(get())); }
    std::optional<std::string_view> result() const noexcept { return maybe_from_c(fmcp_message_result(get())); }
    std::optional<std::string_view> error() const noexcept { return maybe_from_c(fmcp_message_error(get())); }

private:
    detail::Handle<fmcp_message, fmcp_message_free> message_;
};

} // namespace ferromcp

#endif

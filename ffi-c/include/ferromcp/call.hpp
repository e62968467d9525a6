/* Calls: what they say, how they are answered, and how their clients are asked. A part of ferromcp.hpp. */
#ifndef FERROMCP_CALL_HPP
#define FERROMCP_CALL_HPP

#include "base.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ferromcp {

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

    /* The name of the tool or prompt, or the URI of the resource. */
    std::optional<std::string_view> name() const noexcept { return maybe_from_c(fmcp_call_name(get())); }

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

    /* Who has called, as far as that was verified. */
    std::optional<std::string_view> principal() const noexcept { return maybe_from_c(fmcp_call_principal(get())); }

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

    /* Over HTTP, ends the connection on which a client of revision 2025-11-25 or earlier waits, and not the call: it comes back.
     * False: there is no such connection. */
    bool close_sse_stream() const {
        bool closed = false;
        detail::run([&](fmcp_error **error) { return fmcp_call_close_sse_stream(get(), &closed, error); });
        return closed;
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
    // one questions are counted. `timeout_ms` is how long a client of an older revision has, as fmcp_call_elicit() says.

    /* Asks the user by a form; `schema` is a flat JSON Schema. */
    ElicitResult elicit(std::string_view message, std::string_view schema,
                        std::optional<std::string_view> key = std::nullopt, std::int64_t timeout_ms = -1) const {
        return first([&](fmcp_answers **answers, fmcp_error **error) {
                   return fmcp_call_elicit(get(), to_c(message), to_c(schema), maybe_to_c(key), timeout_ms, answers, error);
               })
            .elicit;
    }

    /* Asks the user to visit a URL. Accepting means to agree to go there. */
    ElicitResult elicit_url(std::string_view message, std::string_view url,
                            std::optional<std::string_view> key = std::nullopt, std::int64_t timeout_ms = -1) const {
        return first([&](fmcp_answers **answers, fmcp_error **error) {
                   return fmcp_call_elicit_url(get(), to_c(message), to_c(url), maybe_to_c(key), timeout_ms, answers, error);
               })
            .elicit;
    }

    /* Asks the client's language model; parameters and result are JSON text. */
    std::string sample(std::string_view params, std::optional<std::string_view> key = std::nullopt,
                       std::int64_t timeout_ms = -1) const {
        return first([&](fmcp_answers **answers, fmcp_error **error) {
                   return fmcp_call_sample(get(), to_c(params), maybe_to_c(key), timeout_ms, answers, error);
               })
            .result;
    }

    /* Asks which folders and files the client works on: the JSON text of a ListRootsResult. */
    std::string list_roots(std::optional<std::string_view> key = std::nullopt, std::int64_t timeout_ms = -1) const {
        return first([&](fmcp_answers **answers, fmcp_error **error) {
                   return fmcp_call_list_roots(get(), maybe_to_c(key), timeout_ms, answers, error);
               })
            .result;
    }

    /* Asks several things in one round; the answers come in the order of the requests. */
    std::vector<Answer> ask(const std::vector<InputRequest> &requests, std::int64_t timeout_ms = -1) const {
        const auto converted = detail::all_to_c(requests);
        return detail::ask([&](fmcp_answers **answers, fmcp_error **error) {
            return fmcp_call_ask(get(), converted.data(), converted.size(), timeout_ms, answers, error);
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

    /* In what Server::middleware() calls before a handler: refuses the call. Negative: nothing is said of when to try again. */
    void refuse(std::string_view text, std::int64_t retry_after_ms = -1) const {
        detail::run([&](fmcp_error **error) { return fmcp_call_refuse(get(), to_c(text), retry_after_ms, error); });
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

} // namespace ferromcp

#endif

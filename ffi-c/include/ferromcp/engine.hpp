/* A loop of one's own around the engine. A part of ferromcp.hpp. */
#ifndef FERROMCP_ENGINE_HPP
#define FERROMCP_ENGINE_HPP

#include "call.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ferromcp {

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
    void complete_elicitation(std::string_view id) {
        detail::run([&](fmcp_error **error) { return fmcp_engine_complete_elicitation(get(), to_c(id), error); });
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

} // namespace ferromcp

#endif

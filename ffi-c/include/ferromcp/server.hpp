/* Servers with handlers, and the ready-made loop. A part of ferromcp.hpp. */
#ifndef FERROMCP_SERVER_HPP
#define FERROMCP_SERVER_HPP

#include "call.hpp"
#include "middleware.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ferromcp {

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

    /* A page of MCP Apps, which a tool points at with `"_meta":{"ui":{"resourceUri":...}}` in its definition. */
    Server &app_view(std::string_view uri, std::string_view name, std::string_view html,
                     std::optional<std::string_view> ui = std::nullopt) {
        detail::run([&](fmcp_error **error) {
            return fmcp_server_add_app_view(get(), to_c(uri), to_c(name), to_c(html), maybe_to_c(ui), error);
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

    /* Puts two functions round every call of a handler, inside of those that are there. `before` is called with a Call & and
     * refuses it by an exception (MCPError as a JSON-RPC error, any other with its text) or by Call::refuse(); `after` with a
     * const Call & and a const CallOutcome &. Either may be nullptr. Before the server runs. */
    template <class Before, class After = std::nullptr_t>
    Server &middleware(Before before, After after = After(), bool wants_text = false) {
        using Layer = detail::Layer<Before, After>;
        fmcp_call_handler enter = nullptr;
        fmcp_after_handler leave = nullptr;
        if constexpr (!std::is_null_pointer_v<Before>) {
            static_assert(std::is_invocable_v<Before &, Call &>, "`before` is called with a Call &");
            enter = &Layer::enter;
        }
        if constexpr (!std::is_null_pointer_v<After>) {
            static_assert(std::is_invocable_v<After &, const Call &, const CallOutcome &>,
                          "`after` is called with a const Call & and a const CallOutcome &");
            leave = &Layer::leave;
        }
        auto held = std::unique_ptr<Layer>(new Layer{std::move(before), std::move(after)});
        detail::run([&](fmcp_error **error) {
            const auto destroy = [](void *user_data) { delete static_cast<Layer *>(user_data); };
            return fmcp_server_add_middleware(get(), enter, leave, wants_text, held.get(), destroy, error);
        });
        held.release();
        return *this;
    }

    /* Tells a function of each notification of a method that is none of MCP: it gets the parameters, the JSON text of an
     * object, if there are any. It must return soon; what it throws is lost. At any time. */
    template <class F>
    Server &on_notification(std::string_view method, F handler) {
        static_assert(std::is_invocable_v<F &, std::optional<std::string_view>>, "it is called with the parameters, if any");
        auto held = std::make_unique<F>(std::move(handler));
        detail::run([&](fmcp_error **error) {
            const auto tell = [](fmcp_text params, void *user_data) {
                try {
                    (*static_cast<F *>(user_data))(maybe_from_c(params));
                } catch (...) { // There is nobody to throw it to.
                }
            };
            const auto destroy = [](void *user_data) { delete static_cast<F *>(user_data); };
            return fmcp_server_on_notification(get(), to_c(method), tell, held.get(), destroy, error);
        });
        held.release();
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
    void complete_elicitation(std::string_view id) { command(fmcp_server_complete_elicitation, id); }

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

    /* Listens and serves over HTTP until stop() is called. */
    void run_http(std::optional<std::string_view> options = std::nullopt) {
        detail::run([&](fmcp_error **error) { return fmcp_server_run_http(get(), maybe_to_c(options), error); });
    }

    void start_http(std::optional<std::string_view> options = std::nullopt) {
        detail::run([&](fmcp_error **error) { return fmcp_server_start_http(get(), maybe_to_c(options), error); });
    }

    /* Serves the requests that Http::admit() brings. */
    void start_carrier(std::optional<std::string_view> options = std::nullopt) {
        detail::run([&](fmcp_error **error) { return fmcp_server_start_carrier(get(), maybe_to_c(options), error); });
    }

    /* What is listened on, as address and port; none where it does not listen. */
    std::optional<std::string_view> address() const noexcept { return maybe_from_c(fmcp_server_address(get())); }
    std::uint16_t port() const noexcept { return fmcp_server_port(get()); }

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

} // namespace ferromcp

#endif

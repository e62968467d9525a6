/* What stands round the calls of handlers. A part of ferromcp.hpp. */
#ifndef FERROMCP_MIDDLEWARE_HPP
#define FERROMCP_MIDDLEWARE_HPP

#include "call.hpp"

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>

namespace ferromcp {

/* What became of a call, as middleware is told. */
struct CallOutcome {
    fmcp_end end;
    /* A middleware, or the policy, has refused it. */
    bool refused;
    /* With FMCP_END_ERROR. */
    std::int64_t error_code;
    /* From the moment that the handler was to get it. */
    std::chrono::microseconds duration;
    /* Of the answer. */
    std::uint64_t bytes;
    /* The answer's main part, for a middleware that wants texts. It lives until the function returns. */
    std::optional<std::string_view> text;
};

namespace detail {

/* The two functions of a middleware; that which is not there is nullptr. */
template <class Before, class After>
struct Layer {
    Before before;
    After after;

    static void enter(fmcp_call *borrowed, void *user_data) noexcept {
        try {
            Call call(borrowed);
            static_cast<Layer *>(user_data)->before(call);
        } catch (const MCPError &error) {
            fmcp_call_fail(borrowed, error.code(), to_c(error.what()), maybe_to_c(error.data()), nullptr);
        } catch (const std::exception &error) {
            fmcp_call_refuse(borrowed, to_c(error.what()), -1, nullptr);
        } catch (...) {
            fmcp_call_refuse(borrowed, to_c("A middleware threw something that is no std::exception."), -1, nullptr);
        }
    }

    static void leave(const fmcp_call *borrowed, const fmcp_call_outcome *outcome, void *user_data) noexcept {
        try {
            // The library has made it for looking alone, and refuses everything else.
            const Call call(const_cast<fmcp_call *>(borrowed));
            const CallOutcome copied = {
                outcome->end,
                outcome->refused,
                outcome->error_code,
                std::chrono::microseconds(outcome->duration_us),
                outcome->bytes,
                maybe_from_c(outcome->text),
            };
            static_cast<Layer *>(user_data)->after(call, copied);
        } catch (...) { // There is nobody to throw it to.
        }
    }
};

} // namespace detail

} // namespace ferromcp

#endif

/* Texts, errors and handles. A part of ferromcp.hpp. */
#ifndef FERROMCP_BASE_HPP
#define FERROMCP_BASE_HPP

#include "../ferromcp.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

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

} // namespace ferromcp

#endif

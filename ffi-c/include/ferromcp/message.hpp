/* Messages, read and looked at. A part of ferromcp.hpp. */
#ifndef FERROMCP_MESSAGE_HPP
#define FERROMCP_MESSAGE_HPP

#include "base.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace ferromcp {

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

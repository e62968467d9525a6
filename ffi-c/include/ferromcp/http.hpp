/* Requests of HTTP that the program brings by itself. A part of ferromcp.hpp. */
#ifndef FERROMCP_HTTP_HPP
#define FERROMCP_HTTP_HPP

#include "server.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ferromcp {

/* Names and values of header fields. */
using HttpHeaders = std::vector<std::pair<std::string_view, std::string_view>>;

/* A part of a response. */
class HttpPart {
public:
    explicit HttpPart(fmcp_http_part *owned) noexcept : part_(owned) {}

    fmcp_http_part *get() const noexcept { return part_.get(); }

    /* The status code, in the first part; 0 in every other. */
    int status() const noexcept { return fmcp_http_part_status(get()); }

    /* The header fields of the first part, without those that HTTP/1.1 has for the message itself. */
    HttpHeaders headers() const {
        HttpHeaders headers;
        for (std::size_t at = 0; at < fmcp_http_part_header_count(get()); at++) {
            headers.emplace_back(from_c(fmcp_http_part_header_name(get(), at)), from_c(fmcp_http_part_header_value(get(), at)));
        }
        return headers;
    }

    std::string_view body() const noexcept { return from_c(fmcp_http_part_body(get())); }
    bool is_last() const noexcept { return fmcp_http_part_is_last(get()); }

    /* The response was given up, and its connection is to be broken off. */
    bool is_aborted() const noexcept { return fmcp_http_part_is_aborted(get()); }

private:
    detail::Handle<fmcp_http_part, fmcp_http_part_free> part_;
};

/* A request and the response to it. Its end before the last part says that the client is gone. */
class Http {
public:
    /* Looks at a head. `target` has the query in it; `principal` is who is behind the request, as far as that was verified. */
    static Http admit(const Server &server, std::string_view method, std::string_view target, const HttpHeaders &headers,
                      std::optional<std::string_view> principal = std::nullopt) {
        std::vector<fmcp_http_header> converted;
        converted.reserve(headers.size());
        for (const auto &[name, value] : headers) {
            converted.push_back({to_c(name), to_c(value)});
        }
        Http made;
        detail::run([&](fmcp_error **error) {
            fmcp_http *http = nullptr;
            const fmcp_status status = fmcp_http_admit(server.get(), to_c(method), to_c(target), converted.data(),
                                                       converted.size(), maybe_to_c(principal), &http, error);
            made.http_.reset(http);
            return status;
        });
        return made;
    }

    fmcp_http *get() const noexcept { return http_.get(); }

    /* Bytes that the body may have. 0: none is to be read. */
    std::size_t body_limit() const noexcept { return fmcp_http_body_limit(get()); }

    /* Serves the request, once, with its whole body; one that is too long is answered so. */
    void serve(std::string_view body = {}) {
        const auto *data = reinterpret_cast<const std::uint8_t *>(body.data());
        detail::run([&](fmcp_error **error) { return fmcp_http_serve(get(), data, body.size(), error); });
    }

    /* The next part of the response; none where there is none in time: 0 does not wait, a negative number waits for ever. */
    std::optional<HttpPart> next(std::int64_t timeout_ms = -1) {
        fmcp_http_part *part = nullptr;
        detail::run([&](fmcp_error **error) { return fmcp_http_next(get(), timeout_ms, &part, error); });
        return part != nullptr ? std::optional<HttpPart>(part) : std::nullopt;
    }

    /* Sets what is called, on any thread, when next() gave none and should be asked again. It must return soon; what it throws
     * is lost. */
    template <class F>
    void on_ready(F function) {
        static_assert(std::is_invocable_v<F &>, "it is called without arguments");
        auto held = std::make_unique<F>(std::move(function));
        detail::run([&](fmcp_error **error) {
            const auto tell = [](void *user_data) {
                try {
                    (*static_cast<F *>(user_data))();
                } catch (...) { // There is nobody to throw it to.
                }
            };
            const auto destroy = [](void *user_data) { delete static_cast<F *>(user_data); };
            return fmcp_http_on_ready(get(), tell, held.get(), destroy, error);
        });
        held.release();
    }

private:
    Http() = default;

    detail::Handle<fmcp_http, fmcp_http_free> http_;
};

} // namespace ferromcp

#endif

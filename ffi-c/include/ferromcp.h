/*
 * FerroMCP: the Model Context Protocol for C and C++.
 *
 * These conventions hold for every function; a comment at a function says only what is special to it.
 *
 * Names. fmcp_<type>_<verb> for functions, FMCP_<NAME> for constants and macros.
 *
 * Ownership. An object is a pointer to a struct that you never look into. Whoever receives one through an `out` or `err`
 * parameter owns it and gives it back once, to fmcp_<type>_free. Freeing NULL does nothing. An object taken as `const` is
 * only read. Nothing that you pass in is kept after the call returns.
 *
 * Lifetimes. An fmcp_text points into the object that it was asked from and is valid until that object is freed; copy what
 * you need for longer. It is UTF-8, has a length, and no terminating zero. data == NULL means that there is no text.
 *
 * NULL. A function that reads an object takes NULL and returns "nothing" (0, or no text). A required pointer that is NULL
 * gives FMCP_STATUS_INVALID_ARGUMENT. `err` may always be NULL.
 *
 * Errors. A function that can fail returns an fmcp_status. Results are written only on FMCP_STATUS_OK; the error object is
 * written only otherwise, and only if you gave a place for it. What `*out` and `*err` held before is not read or freed.
 * No panic of the library's leaves it: it comes back as FMCP_STATUS_PANIC.
 *
 * Threads. There is no global state. Different objects may be used from different threads at once. The objects of this
 * version never change after they were made, so several threads may also read one at once; freeing must come after that.
 *
 * Versions. FMCP_VERSION is the version of this header, fmcp_version() that of the library. Before 1.0 a new minor version
 * may change the ABI, and the library's SONAME then changes with it. Enum values keep their numbers for ever; be ready for
 * new ones.
 */


#ifndef FERROMCP_H
#define FERROMCP_H

/* Written by `make header` from ffi-c/src and ffi-c/cbindgen.toml. Change those, not this file. */

#include <stddef.h>
#include <stdint.h>

/* The version of this header. */
#define FMCP_VERSION "0.1.0"
#define FMCP_VERSION_MAJOR 0
#define FMCP_VERSION_MINOR 1
#define FMCP_VERSION_PATCH 0

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
} fmcp_status;

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

// What went wrong. Owned by whoever received it; freed with fmcp_error_free().
typedef struct fmcp_error fmcp_error;

// A JSON-RPC message. Owned by whoever received it; freed with fmcp_message_free().
typedef struct fmcp_message fmcp_message;

// A piece of UTF-8 text that belongs to the object it was asked from. `data` is not terminated by a zero byte, and is
// NULL where there is no text (which is not the same as an empty text).
typedef struct {
    // The first byte, or NULL.
    const char *data;
    // The number of bytes.
    size_t len;
} fmcp_text;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The status with which the failed call returned. FMCP_STATUS_OK for NULL.
fmcp_status fmcp_error_status(const fmcp_error *error);

// The JSON-RPC error code to answer the peer with, or 0 when the status is not FMCP_STATUS_PROTOCOL.
int64_t fmcp_error_code(const fmcp_error *error);

// What went wrong, for a person; do not compare it in programs. Lives as long as the error.
fmcp_text fmcp_error_text(const fmcp_error *error);

// The id that the peer can be answered under, as JSON text, where one could be read. Lives as long as the error.
fmcp_text fmcp_error_id(const fmcp_error *error);

// Frees an error. NULL does nothing.
void fmcp_error_free(fmcp_error *error);

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

// The version of the library that is running, as "MAJOR.MINOR.PATCH" with a terminating zero. Compare it with
// FMCP_VERSION, the version of the header that the program was compiled with. The text lives for ever.
const char *fmcp_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FERROMCP_H */

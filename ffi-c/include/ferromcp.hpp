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

#include "ferromcp/call.hpp"
#include "ferromcp/engine.hpp"
#include "ferromcp/http.hpp"
#include "ferromcp/message.hpp"
#include "ferromcp/middleware.hpp"
#include "ferromcp/server.hpp"

#endif

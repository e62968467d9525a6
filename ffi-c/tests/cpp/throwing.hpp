// What the C++ tests share: exceptions that are expected, and captures that are counted.
#ifndef FERROMCP_TEST_THROWING_HPP
#define FERROMCP_TEST_THROWING_HPP

#include "ferromcp.hpp"

extern "C" {
#include "tasking.h"
}

using ferromcp::Call;
using ferromcp::Error;
using ferromcp::Server;

// The status of the Error that `body` throws; FMCP_STATUS_OK when it throws none.
template <class F>
static fmcp_status thrown(F body) {
    try {
        body();
        return FMCP_STATUS_OK;
    } catch (const Error &error) {
        CHECK(std::string_view(error.what()) != "");
        return error.status();
    }
}

// Counts how many of its kind live: what a handler captures must live as long as the server and no longer.
struct Living {
    explicit Living(int &count) : count(&count) { ++*this->count; }
    Living(const Living &other) : count(other.count) { ++*count; }
    Living(Living &&other) noexcept : count(other.count) { ++*count; }
    Living &operator=(const Living &) = delete;
    ~Living() { --*count; }
    int *count;
};

#endif

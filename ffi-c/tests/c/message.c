/* Messages and errors through the C ABI: what is read, who owns it, and what misuse gives. */
#include "check.h"
#include "ferromcp.h"

/* Included twice on purpose: the guard has to hold. */
#include "ferromcp.h"

static fmcp_status parse(const char *text, fmcp_message **out, fmcp_error **err) {
    return fmcp_message_parse((const uint8_t *)text, strlen(text), out, err);
}

static void versions_agree(void) {
    char built[64];
    snprintf(built, sizeof built, "%d.%d.%d", FMCP_VERSION_MAJOR, FMCP_VERSION_MINOR, FMCP_VERSION_PATCH);
    CHECK(strcmp(fmcp_version(), FMCP_VERSION) == 0);
    CHECK(strcmp(built, FMCP_VERSION) == 0);
}

static void a_request_is_read(void) {
    fmcp_message *message = NULL;
    fmcp_error *error = NULL;
    CHECK(parse("{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901234567890,\"method\":\"tools\\/call\","
                "\"params\":{\"name\":\"a\", \"x\":1.10e+400}}\r\n",
                &message, &error) == FMCP_STATUS_OK);
    CHECK(error == NULL);
    CHECK(fmcp_message_kind(message) == FMCP_KIND_REQUEST);
    CHECK(TEXT_IS(fmcp_message_id(message), "123456789012345678901234567890"));
    CHECK(TEXT_IS(fmcp_message_method(message), "tools/call"));
    CHECK(TEXT_IS(fmcp_message_params(message), "{\"name\":\"a\", \"x\":1.10e+400}"));
    CHECK(fmcp_message_result(message).data == NULL);
    CHECK(fmcp_message_error(message).data == NULL);
    fmcp_message_free(message);
}

static void a_notification_has_no_id(void) {
    fmcp_message *message = NULL;
    CHECK(parse("{\"jsonrpc\":\"2.0\",\"method\":\"\"}", &message, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_message_kind(message) == FMCP_KIND_NOTIFICATION);
    CHECK(fmcp_message_id(message).data == NULL);
    CHECK(fmcp_message_method(message).data != NULL && fmcp_message_method(message).len == 0);
    CHECK(fmcp_message_params(message).data == NULL);
    fmcp_message_free(message);
}

static void a_response_has_a_result_or_an_error(void) {
    fmcp_message *message = NULL;
    CHECK(parse("{\"jsonrpc\":\"2.0\",\"id\":\"\",\"result\":{}}", &message, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_message_kind(message) == FMCP_KIND_RESPONSE);
    CHECK(TEXT_IS(fmcp_message_id(message), "\"\""));
    CHECK(fmcp_message_method(message).data == NULL);
    CHECK(TEXT_IS(fmcp_message_result(message), "{}"));
    fmcp_message_free(message);

    CHECK(parse("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"\"}}", &message, NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_message_kind(message) == FMCP_KIND_RESPONSE);
    CHECK(fmcp_message_id(message).data == NULL);
    CHECK(TEXT_IS(fmcp_message_error(message), "{\"code\":1,\"message\":\"\"}"));
    fmcp_message_free(message);
}

static void a_fault_says_what_to_answer(void) {
    fmcp_message *const untouched = (fmcp_message *)&checks_passed;
    fmcp_message *message = untouched;
    fmcp_error *error = NULL;
    CHECK(parse("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":42}", &message, &error) == FMCP_STATUS_PROTOCOL);
    CHECK(message == untouched);
    CHECK(fmcp_error_status(error) == FMCP_STATUS_PROTOCOL);
    CHECK(fmcp_error_code(error) == -32600);
    CHECK(TEXT_IS(fmcp_error_id(error), "7"));
    CHECK(fmcp_error_text(error).len > 0);
    fmcp_error_free(error);

    error = NULL;
    CHECK(parse("{", &message, &error) == FMCP_STATUS_PROTOCOL);
    CHECK(fmcp_error_code(error) == -32700);
    CHECK(fmcp_error_id(error).data == NULL);
    fmcp_error_free(error);

    error = NULL;
    CHECK(parse("[{\"jsonrpc\":\"2.0\",\"method\":\"a\"}]", &message, &error) == FMCP_STATUS_PROTOCOL);
    CHECK(fmcp_error_code(error) == -32600);
    fmcp_error_free(error);

    CHECK(parse("", &message, NULL) == FMCP_STATUS_PROTOCOL);
    CHECK(message == untouched);
}

static void misuse_is_reported(void) {
    fmcp_message *message = NULL;
    fmcp_error *error = NULL;
    CHECK(fmcp_message_parse(NULL, 0, &message, NULL) == FMCP_STATUS_PROTOCOL);
    CHECK(fmcp_message_parse(NULL, 5, &message, &error) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(message == NULL);
    CHECK(fmcp_error_status(error) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(fmcp_error_code(error) == 0);
    CHECK(fmcp_error_id(error).data == NULL);
    CHECK(fmcp_error_text(error).len > 0);
    fmcp_error_free(error);

    error = NULL;
    CHECK(fmcp_message_parse((const uint8_t *)"{}", SIZE_MAX, &message, &error) == FMCP_STATUS_INVALID_ARGUMENT);
    fmcp_error_free(error);

    error = NULL;
    CHECK(parse("{}", NULL, &error) == FMCP_STATUS_INVALID_ARGUMENT);
    CHECK(TEXT_IS(fmcp_error_text(error), "out is NULL"));
    fmcp_error_free(error);
    CHECK(parse("{}", NULL, NULL) == FMCP_STATUS_INVALID_ARGUMENT);
}

static void null_reads_as_nothing(void) {
    CHECK(fmcp_message_kind(NULL) == FMCP_KIND_NONE);
    CHECK(fmcp_message_id(NULL).data == NULL && fmcp_message_id(NULL).len == 0);
    CHECK(fmcp_message_method(NULL).data == NULL);
    CHECK(fmcp_message_params(NULL).data == NULL);
    CHECK(fmcp_message_result(NULL).data == NULL);
    CHECK(fmcp_message_error(NULL).data == NULL);
    CHECK(fmcp_error_status(NULL) == FMCP_STATUS_OK);
    CHECK(fmcp_error_code(NULL) == 0);
    CHECK(fmcp_error_text(NULL).data == NULL);
    CHECK(fmcp_error_id(NULL).data == NULL);
    fmcp_message_free(NULL);
    fmcp_error_free(NULL);
}

int main(void) {
    versions_agree();
    a_request_is_read();
    a_notification_has_no_id();
    a_response_has_a_result_or_an_error();
    a_fault_says_what_to_answer();
    misuse_is_reported();
    null_reads_as_nothing();
    return check_report("message");
}

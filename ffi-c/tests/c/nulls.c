/* Every export with NULL in every place: nothing is read through it, nothing is written, and what can be said is said.
 * The runner checks that no export of the header is missing here. */
#include "client.h"

static void handler(fmcp_call *call, void *user_data) {
    (void)call;
    (void)user_data;
}

static void after(const fmcp_call *call, const fmcp_call_outcome *outcome, void *user_data) {
    (void)call;
    (void)outcome;
    (void)user_data;
}

static void on_notification(fmcp_text params, void *user_data) {
    (void)params;
    (void)user_data;
}

static void on_response(const fmcp_response *response, void *user_data) {
    (void)response;
    (void)user_data;
}

/* What can fail, says that an argument is wrong. */
#define REFUSED(call) CHECK((call) == FMCP_STATUS_INVALID_ARGUMENT)
/* What gives a text, gives none. */
#define NO_TEXT(call)                   \
    do {                                \
        const fmcp_text text_ = (call); \
        CHECK(text_.data == NULL && text_.len == 0); \
    } while (0)

static void answers(void) {
    CHECK(fmcp_answers_count(NULL) == 0);
    CHECK(fmcp_answers_outcome(NULL, 0) == 0);
    CHECK(fmcp_answers_action(NULL, 0) == 0);
    NO_TEXT(fmcp_answers_content(NULL, 0));
    NO_TEXT(fmcp_answers_result(NULL, 0));
    CHECK(fmcp_answers_error_code(NULL, 0) == 0);
    NO_TEXT(fmcp_answers_error_message(NULL, 0));
    fmcp_answers_free(NULL);
}

static void call(void) {
    CHECK(fmcp_call_retain(NULL) == NULL);
    fmcp_call_free(NULL);
    REFUSED(fmcp_call_respond_text(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_call_tool_error(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_call_respond_tool(NULL, FMCP_NONE, FMCP_NONE, false, FMCP_NONE, NULL));
    REFUSED(fmcp_call_respond_contents(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_call_respond_prompt(NULL, FMCP_NONE, FMCP_NONE, NULL));
    REFUSED(fmcp_call_respond_completion(NULL, FMCP_NONE, 0, 0, NULL));
    REFUSED(fmcp_call_respond_result(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_call_fail(NULL, 0, FMCP_NONE, FMCP_NONE, NULL));
    REFUSED(fmcp_call_fail_not_found(NULL, NULL));
    REFUSED(fmcp_call_fail_capability(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_call_refuse(NULL, FMCP_NONE, 0, NULL));
    REFUSED(fmcp_call_input_required(NULL, FMCP_NONE, FMCP_NONE, NULL));
    NO_TEXT(fmcp_call_input_responses(NULL));
    NO_TEXT(fmcp_call_request_state(NULL));
    REFUSED(fmcp_call_elicit(NULL, FMCP_NONE, FMCP_NONE, FMCP_NONE, -1, NULL, NULL));
    REFUSED(fmcp_call_elicit_url(NULL, FMCP_NONE, FMCP_NONE, FMCP_NONE, -1, NULL, NULL));
    REFUSED(fmcp_call_sample(NULL, FMCP_NONE, FMCP_NONE, -1, NULL, NULL));
    REFUSED(fmcp_call_list_roots(NULL, FMCP_NONE, -1, NULL, NULL));
    REFUSED(fmcp_call_ask(NULL, NULL, 0, -1, NULL, NULL));
    REFUSED(fmcp_call_begin_ask(NULL, NULL, 0, 0, 0, NULL, NULL, NULL));
    NO_TEXT(fmcp_call_arguments(NULL));
    NO_TEXT(fmcp_call_argument(NULL, NULL));
    REFUSED(fmcp_call_string(NULL, NULL, NULL, NULL));
    REFUSED(fmcp_call_integer(NULL, NULL, NULL, NULL));
    REFUSED(fmcp_call_number(NULL, NULL, NULL, NULL));
    REFUSED(fmcp_call_boolean(NULL, NULL, NULL, NULL));
    NO_TEXT(fmcp_call_uri(NULL));
    CHECK(fmcp_call_target(NULL) == 0);
    CHECK(fmcp_call_tag(NULL) == 0);
    CHECK(fmcp_call_key(NULL) == 0);
    CHECK(fmcp_call_stream(NULL) == 0);
    NO_TEXT(fmcp_call_method(NULL));
    NO_TEXT(fmcp_call_name(NULL));
    NO_TEXT(fmcp_call_id(NULL));
    NO_TEXT(fmcp_call_protocol_version(NULL));
    NO_TEXT(fmcp_call_params(NULL));
    NO_TEXT(fmcp_call_meta(NULL));
    NO_TEXT(fmcp_call_client_info(NULL));
    NO_TEXT(fmcp_call_client_capabilities(NULL));
    NO_TEXT(fmcp_call_variable(NULL, NULL));
    NO_TEXT(fmcp_call_completion_argument(NULL));
    NO_TEXT(fmcp_call_completion_value(NULL));
    NO_TEXT(fmcp_call_principal(NULL));
    CHECK(!fmcp_call_is_cancelled(NULL));
    NO_TEXT(fmcp_call_cancel_reason(NULL));
    NO_TEXT(fmcp_call_task_id(NULL));
    REFUSED(fmcp_call_begin_task(NULL, NULL, NULL));
    REFUSED(fmcp_call_report_progress(NULL, 0, 0, FMCP_NONE, NULL));
    REFUSED(fmcp_call_log(NULL, 0, FMCP_NONE, NULL));
    REFUSED(fmcp_call_log_json(NULL, 0, FMCP_NONE, FMCP_NONE, NULL));
    REFUSED(fmcp_call_close_sse_stream(NULL, NULL, NULL));
    REFUSED(fmcp_call_notify(NULL, FMCP_NONE, FMCP_NONE, NULL));
    REFUSED(fmcp_call_request(NULL, FMCP_NONE, FMCP_NONE, 0, on_response, NULL, NULL, NULL));
}

static void engine(void) {
    REFUSED(fmcp_engine_new(FMCP_NONE, NULL, NULL));
    REFUSED(fmcp_engine_open(NULL, 0, NULL, NULL));
    REFUSED(fmcp_engine_receive(NULL, 0, NULL, 0, 0, NULL));
    REFUSED(fmcp_engine_end_of_input(NULL, 0, 0, NULL));
    REFUSED(fmcp_engine_close(NULL, 0, 0, NULL));
    REFUSED(fmcp_engine_shutdown(NULL, 0, NULL));
    REFUSED(fmcp_engine_poll(NULL, NULL, NULL));
    CHECK(fmcp_engine_poll_timeout(NULL) == UINT64_MAX);
    REFUSED(fmcp_engine_handle_timeout(NULL, 0, NULL));
    fmcp_engine_free(NULL);
    REFUSED(fmcp_engine_add_tool(NULL, FMCP_NONE, 0, 0, NULL));
    REFUSED(fmcp_engine_add_resource(NULL, FMCP_NONE, 0, 0, NULL));
    REFUSED(fmcp_engine_add_resource_template(NULL, FMCP_NONE, 0, 0, NULL));
    REFUSED(fmcp_engine_add_prompt(NULL, FMCP_NONE, 0, 0, NULL));
    REFUSED(fmcp_engine_remove_tool(NULL, FMCP_NONE, 0, NULL));
    REFUSED(fmcp_engine_remove_resource(NULL, FMCP_NONE, 0, NULL));
    REFUSED(fmcp_engine_remove_resource_template(NULL, FMCP_NONE, 0, NULL));
    REFUSED(fmcp_engine_remove_prompt(NULL, FMCP_NONE, 0, NULL));
    REFUSED(fmcp_engine_enable_tool(NULL, FMCP_NONE, true, 0, NULL));
    REFUSED(fmcp_engine_enable_resource(NULL, FMCP_NONE, true, 0, NULL));
    REFUSED(fmcp_engine_enable_resource_template(NULL, FMCP_NONE, true, 0, NULL));
    REFUSED(fmcp_engine_enable_prompt(NULL, FMCP_NONE, true, 0, NULL));
    REFUSED(fmcp_engine_resource_updated(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_engine_complete_elicitation(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_engine_set_epoch(NULL, 0, NULL));
    REFUSED(fmcp_engine_set_state_keys(NULL, NULL, 0, NULL));
    REFUSED(fmcp_engine_set_principal(NULL, 0, FMCP_NONE, NULL));
}

static void output(void) {
    CHECK(fmcp_output_event(NULL) == 0);
    CHECK(fmcp_output_stream(NULL) == 0);
    CHECK(fmcp_output_key(NULL) == 0);
    NO_TEXT(fmcp_output_text(NULL));
    NO_TEXT(fmcp_output_params(NULL));
    CHECK(fmcp_output_diagnostic(NULL) == 0);
    CHECK(fmcp_output_call(NULL) == NULL);
    CHECK(fmcp_output_ask(NULL) == 0);
    CHECK(fmcp_output_answers(NULL) == NULL);
    fmcp_output_free(NULL);
}

static void error(void) {
    CHECK(fmcp_error_status(NULL) == 0);
    CHECK(fmcp_error_code(NULL) == 0);
    NO_TEXT(fmcp_error_text(NULL));
    NO_TEXT(fmcp_error_id(NULL));
    NO_TEXT(fmcp_error_capability(NULL));
    fmcp_error_free(NULL);
}

static void on_ready(void *user_data) { (void)user_data; }

static void http(void) {
    REFUSED(fmcp_http_admit(NULL, FMCP_NONE, FMCP_NONE, NULL, 0, FMCP_NONE, NULL, NULL));
    CHECK(fmcp_http_body_limit(NULL) == 0);
    REFUSED(fmcp_http_serve(NULL, NULL, 0, NULL));
    REFUSED(fmcp_http_next(NULL, 0, NULL, NULL));
    REFUSED(fmcp_http_on_ready(NULL, on_ready, NULL, NULL, NULL));
    fmcp_http_free(NULL);
    CHECK(fmcp_http_part_status(NULL) == 0);
    CHECK(fmcp_http_part_header_count(NULL) == 0);
    NO_TEXT(fmcp_http_part_header_name(NULL, 0));
    NO_TEXT(fmcp_http_part_header_value(NULL, 0));
    NO_TEXT(fmcp_http_part_body(NULL));
    CHECK(!fmcp_http_part_is_last(NULL));
    CHECK(!fmcp_http_part_is_aborted(NULL));
    fmcp_http_part_free(NULL);
}

static void message(void) {
    REFUSED(fmcp_message_parse((const uint8_t *)"{}", 2, NULL, NULL));
    CHECK(fmcp_message_kind(NULL) == 0);
    NO_TEXT(fmcp_message_id(NULL));
    NO_TEXT(fmcp_message_method(NULL));
    NO_TEXT(fmcp_message_params(NULL));
    NO_TEXT(fmcp_message_result(NULL));
    NO_TEXT(fmcp_message_error(NULL));
    fmcp_message_free(NULL);
}

static void server(void) {
    REFUSED(fmcp_server_new(FMCP_NONE, FMCP_NONE, NULL, NULL));
    REFUSED(fmcp_server_from_config(FMCP_NONE, NULL, NULL));
    REFUSED(fmcp_server_add_tool(NULL, FMCP_NONE, handler, NULL, NULL, NULL));
    REFUSED(fmcp_server_add_resource(NULL, FMCP_NONE, handler, NULL, NULL, NULL));
    REFUSED(fmcp_server_add_resource_template(NULL, FMCP_NONE, handler, NULL, NULL, NULL));
    REFUSED(fmcp_server_add_prompt(NULL, FMCP_NONE, handler, NULL, NULL, NULL));
    REFUSED(fmcp_server_add_app_view(NULL, FMCP_NONE, FMCP_NONE, FMCP_NONE, FMCP_NONE, NULL));
    REFUSED(fmcp_server_add_completion(NULL, FMCP_NONE, FMCP_NONE, handler, NULL, NULL, NULL));
    REFUSED(fmcp_server_set_delegate(NULL, handler, NULL, NULL, NULL));
    REFUSED(fmcp_server_remove_tool(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_server_remove_resource(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_server_remove_resource_template(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_server_remove_prompt(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_server_enable_tool(NULL, FMCP_NONE, true, NULL));
    REFUSED(fmcp_server_enable_resource(NULL, FMCP_NONE, true, NULL));
    REFUSED(fmcp_server_enable_resource_template(NULL, FMCP_NONE, true, NULL));
    REFUSED(fmcp_server_enable_prompt(NULL, FMCP_NONE, true, NULL));
    REFUSED(fmcp_server_resource_updated(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_server_complete_elicitation(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_server_set_reentry(NULL, FMCP_TARGET_TOOL, FMCP_NONE, FMCP_REENTRY_HELD, NULL));
    REFUSED(fmcp_server_set_state_keys(NULL, NULL, 0, NULL));
    REFUSED(fmcp_server_set_task_store(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_server_set_policy(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_server_add_middleware(NULL, handler, after, false, NULL, NULL, NULL));
    REFUSED(fmcp_server_on_notification(NULL, FMCP_NONE, on_notification, NULL, NULL, NULL));
    fmcp_server_free(NULL);
    REFUSED(fmcp_server_run_stdio(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_server_start_stdio(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_server_start_fds(NULL, 0, 0, FMCP_NONE, NULL));
    REFUSED(fmcp_server_run_http(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_server_start_http(NULL, FMCP_NONE, NULL));
    REFUSED(fmcp_server_start_carrier(NULL, FMCP_NONE, NULL));
    NO_TEXT(fmcp_server_address(NULL));
    CHECK(fmcp_server_port(NULL) == 0);
    REFUSED(fmcp_server_wait(NULL, NULL));
    REFUSED(fmcp_server_stop(NULL, NULL));
}

static void response(void) {
    CHECK(fmcp_response_outcome(NULL) == 0);
    NO_TEXT(fmcp_response_result(NULL));
    CHECK(fmcp_response_error_code(NULL) == 0);
    NO_TEXT(fmcp_response_error_message(NULL));
}

static void text(void) {
    NO_TEXT(fmcp_text_of(NULL));
}

static void version(void) {
    CHECK(fmcp_version() != NULL);
}

/* With all else in order, each required pointer is missed by itself, and a refused text is not read. */
static void one_by_one(void) {
    fmcp_server *server = NULL;
    fmcp_error *err = NULL;
    fmcp_text value = FMCP_NONE;
    const fmcp_text name = fmcp_text_of("name");
    const fmcp_text lies = {NULL, 3};
    REFUSED(fmcp_server_new(name, name, NULL, NULL));
    REFUSED(fmcp_server_new(FMCP_NONE, name, &server, NULL));
    REFUSED(fmcp_server_new(name, FMCP_NONE, &server, &err));
    CHECK(server == NULL && TEXT_IS(fmcp_error_text(err), "version is NULL"));
    fmcp_error_free(err);
    REFUSED(fmcp_server_new(lies, name, &server, NULL));
    REFUSED(fmcp_call_string(NULL, "name", &value, NULL));
    CHECK(value.data == NULL);
    CHECK(fmcp_server_new(name, name, &server, NULL) == FMCP_STATUS_OK);
    REFUSED(fmcp_server_add_tool(server, FMCP_NONE, handler, NULL, NULL, NULL));
    REFUSED(fmcp_server_set_delegate(server, NULL, NULL, NULL, NULL));
    REFUSED(fmcp_server_add_app_view(server, name, name, FMCP_NONE, FMCP_NONE, NULL));
    REFUSED(fmcp_server_add_completion(server, name, FMCP_NONE, handler, NULL, NULL, NULL));
    REFUSED(fmcp_server_start_fds(server, 0, 1, lies, NULL));
    REFUSED(fmcp_server_start_http(server, lies, NULL));
    REFUSED(fmcp_server_start_carrier(server, lies, NULL));
    CHECK(fmcp_server_start_carrier(server, FMCP_NONE, NULL) == FMCP_STATUS_OK);
    fmcp_http *http = NULL;
    const fmcp_http_header liar = {name, lies};
    REFUSED(fmcp_http_admit(server, lies, name, NULL, 0, FMCP_NONE, &http, NULL));
    REFUSED(fmcp_http_admit(server, name, name, NULL, 1, FMCP_NONE, &http, NULL));
    REFUSED(fmcp_http_admit(server, name, name, &liar, 1, FMCP_NONE, &http, NULL));
    REFUSED(fmcp_http_admit(server, name, name, NULL, 0, lies, &http, NULL));
    REFUSED(fmcp_http_admit(server, name, name, NULL, 0, FMCP_NONE, NULL, NULL));
    CHECK(http == NULL && fmcp_http_admit(server, name, name, NULL, 0, FMCP_NONE, &http, NULL) == FMCP_STATUS_OK);
    REFUSED(fmcp_http_serve(http, NULL, 1, NULL));
    REFUSED(fmcp_http_next(http, 0, NULL, NULL));
    REFUSED(fmcp_http_on_ready(http, NULL, NULL, NULL, NULL));
    fmcp_http_free(http);
    fmcp_server_free(server);
}

int main(void) {
    one_by_one();
    answers();
    call();
    engine();
    output();
    error();
    http();
    message();
    server();
    response();
    text();
    version();
    client_threads_end();
    return check_report("nulls");
}

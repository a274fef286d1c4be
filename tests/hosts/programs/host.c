/* Embeds applications as the tests of tests/hosts say, step by step, over standard input and output. */
#define _GNU_SOURCE
/* Before everything that calls functions of the header. */
#include <count_calls.h>
#include <netinet/in.h>
#include <pointwork_microhttpd.h>
#include <stdatomic.h>
#include <stdio.h>

static void check(pw_error *error) {
    if (!error)
        return;
    fprintf(stderr, "error: %s\n", pw_error_message(error));
    exit(1);
}

#define JSON "application/json"
#define TEXT "text/plain; charset=utf-8"

/* Words, texts */

/* A word of a message: it ends in a zero byte behind its size. */
typedef struct {
    char *data;
    size_t size;
} word;

static word word_of(const char *data, size_t size) {
    word copy = {malloc(size + 1), size};
    if (size > 0)
        memcpy(copy.data, data, size);
    copy.data[size] = '\0';
    return copy;
}

static word copy_of(pw_bytes bytes) {
    return word_of((const char *)bytes.data, bytes.size);
}

static word text_word(const char *text) {
    return word_of(text, strlen(text));
}

static void append(word *text, const void *data, size_t size) {
    text->data = realloc(text->data, text->size + size + 1);
    if (size > 0)
        memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = '\0';
}

static pw_bytes bytes_of(word word) {
    return (pw_bytes){(const uint8_t *)word.data, word.size};
}

static int is(word word, const char *text) {
    return strcmp(word.data, text) == 0;
}

static void free_words(word *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(words[i].data);
    free(words);
}

/* Messages */

static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;

/* Sends a message, and frees its words. */
static void say(word *words, size_t count) {
    pthread_mutex_lock(&output);
    printf("%zu\n", count);
    for (size_t i = 0; i < count; i++) {
        printf("%zu\n", words[i].size);
        fwrite(words[i].data, 1, words[i].size, stdout);
    }
    fflush(stdout);
    pthread_mutex_unlock(&output);
    for (size_t i = 0; i < count; i++)
        free(words[i].data);
}

#define SAY(...)                                                                                                       \
    do {                                                                                                               \
        word words_[] = {__VA_ARGS__};                                                                                 \
        say(words_, sizeof words_ / sizeof *words_);                                                                   \
    } while (0)

/* Tells the tests of the first call of a function; count_calls.h calls this before each call. */
void count_call(size_t number, const char *name) {
    static atomic_bool told[PW_FUNCTIONS];
    if (!atomic_exchange(&told[number], true))
        SAY(text_word("called"), text_word(name));
}

static int read_number(size_t *number) {
    return scanf("%zu", number) == 1 && getchar() == '\n';
}

/* The next message; NULL at the end of the input. */
static word *read_message(size_t *count) {
    if (!read_number(count))
        return NULL;
    word *words = calloc(*count, sizeof *words);
    for (size_t i = 0; i < *count; i++) {
        if (!read_number(&words[i].size))
            exit(1);
        words[i].data = malloc(words[i].size + 1);
        if (fread(words[i].data, 1, words[i].size, stdin) != words[i].size)
            exit(1);
        words[i].data[words[i].size] = '\0';
    }
    return words;
}

/* The end of a step: `number` is a word, which is freed. */
static void stepped(void *number, pw_error *error) {
    word *step = number;
    if (error) {
        char status[8];
        pw_header header;
        size_t count = 0;
        const char *details = pw_error_details(error);
        snprintf(status, sizeof status, "%d", pw_error_status(error));
        while (pw_error_header_at(error, count, &header))
            count++;
        word *words = calloc(6 + 2 * count, sizeof *words);
        words[0] = text_word("failed");
        words[1] = *step;
        words[2] = text_word(pw_error_message(error));
        words[3] = text_word(pw_error_code(error));
        words[4] = text_word(status);
        words[5] = text_word(details ? details : "");
        for (size_t i = 0; pw_error_header_at(error, i, &header); i++) {
            words[6 + 2 * i] = copy_of(header.name);
            words[7 + 2 * i] = copy_of(header.value);
        }
        say(words, 6 + 2 * count);
        free(words);
        pw_error_free(error);
    } else {
        SAY(text_word("done"), *step);
    }
    free(step);
}

/* Replies in chunks */

/* The writer and the reply hold it. */
typedef struct {
    pthread_mutex_t lock;
    int holders;
    word *chunks;
    size_t count, next;
    enum { OPEN, FINISHED, BROKEN } state;
    pw_next *wanted;
} stream;

static stream *new_stream(const word *chunks, size_t count) {
    stream *new = calloc(1, sizeof *new);
    pthread_mutex_init(&new->lock, NULL);
    new->holders = 2;
    new->count = count;
    new->chunks = calloc(count + 1, sizeof *new->chunks);
    for (size_t i = 0; i < count; i++)
        new->chunks[i] = word_of(chunks[i].data, chunks[i].size);
    return new;
}

static void let_go(void *stream_) {
    stream *stream = stream_;
    pthread_mutex_lock(&stream->lock);
    int left = --stream->holders;
    pthread_mutex_unlock(&stream->lock);
    if (left == 0) {
        free_words(stream->chunks, stream->count);
        pthread_mutex_destroy(&stream->lock);
        free(stream);
    }
}

static void end_chunk(int state, pw_next *chunk) {
    if (state == FINISHED)
        pw_chunk_end(chunk);
    else
        pw_chunk_break(chunk, "the listener dropped its reply");
}

static void write_chunk(void *stream_, pw_next *chunk) {
    stream *stream = stream_;
    pthread_mutex_lock(&stream->lock);
    word *data = stream->next < stream->count ? &stream->chunks[stream->next++] : NULL;
    int state = stream->state;
    if (!data && state == OPEN)
        stream->wanted = chunk;
    pthread_mutex_unlock(&stream->lock);
    if (data)
        pw_chunk_data(chunk, bytes_of(*data));
    else if (state != OPEN)
        end_chunk(state, chunk);
}

static void end_stream(stream *stream, int state) {
    pthread_mutex_lock(&stream->lock);
    if (stream->state == OPEN)
        stream->state = state;
    pw_next *wanted = stream->wanted;
    stream->wanted = NULL;
    pthread_mutex_unlock(&stream->lock);
    if (wanted)
        end_chunk(state, wanted);
}

/* Calls that wait for an answer of the tests */

typedef struct pending {
    struct pending *next;
    unsigned long number;
    pw_answer *answer;
    pw_request *request;
} pending;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pending *waiting;

/* Takes a call out of those that wait; NULL if it is not there any more. */
static pending *take_pending(unsigned long number) {
    pthread_mutex_lock(&lock);
    pending **at = &waiting;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    pending *found = *at;
    if (found)
        *at = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

static void free_pending(pending *pending) {
    pw_answer_free(pending->answer);
    pw_request_free(pending->request);
    free(pending);
}

static word number_word(unsigned long number) {
    char text[24];
    snprintf(text, sizeof text, "%lu", number);
    return text_word(text);
}

/* Nobody waits for the answer of the tests any more. */
static void drop_pending(void *number) {
    pending *found = take_pending((unsigned long)number);
    if (!found)
        return;
    SAY(text_word("gone"), number_word(found->number));
    free_pending(found);
}

/* Has the tests answer a call: the second word is for its number. */
static void ask_tests(pw_answer *answer, pw_request *request, word *words, size_t count) {
    static unsigned long last;
    pending *new = calloc(1, sizeof *new);
    new->answer = answer;
    new->request = request;
    /* The answer stays where it is until its cancellation is listened to. */
    pthread_mutex_lock(&lock);
    new->number = ++last;
    new->next = waiting;
    waiting = new;
    words[1] = number_word(new->number);
    say(words, count);
    check(pw_answer_when_gone(answer, drop_pending, (void *)new->number, NULL));
    pthread_mutex_unlock(&lock);
}

/* Hands the request of a call over. Meanwhile the call does not wait, and its cancellation goes by. */
static pw_error *hand_over_pending(word *words) {
    pending *found = take_pending(strtoul(words[0].data, NULL, 10));
    if (!found)
        return NULL;
    unsigned long number = found->number;
    pw_error *error = pw_request_hand_over(found->request, words[1].data, words[2].data, bytes_of(words[3]));
    pthread_mutex_lock(&lock);
    found->next = waiting;
    waiting = found;
    int is_gone = pw_answer_is_cancelled(found->answer);
    pthread_mutex_unlock(&lock);
    if (is_gone)
        drop_pending((void *)number);
    return error;
}

static pw_error *reply_of(int status, pw_bytes body, word *headers, size_t count, pw_reply **reply) {
    pw_error *error = pw_reply_new((uint16_t)status, reply);
    if (error)
        return error;
    for (size_t i = 0; i + 1 < count && !error; i += 2)
        error = pw_reply_add_header(*reply, headers[i].data, headers[i + 1].data);
    if (!error)
        error = pw_reply_set_body(*reply, body);
    if (error)
        pw_reply_free(*reply);
    return error;
}

static void answer_pending(word number, word *words, size_t count) {
    pending *found = take_pending(strtoul(number.data, NULL, 10));
    if (!found)
        return;
    pw_error *error = NULL;
    if (is(words[0], "value")) {
        error = pw_answer_payload(found->answer, words[1].data, bytes_of(words[2]));
    } else if (is(words[0], "failed")) {
        pw_reply *reply;
        const char *details = words[4].size > 0 ? words[4].data : NULL;
        error = reply_of(atoi(words[1].data), (pw_bytes){0}, words + 5, count - 5, &reply);
        if (!error)
            error = pw_answer_fail_with(found->answer, reply, words[2].data, words[3].data, details);
    } else if (is(words[0], "reply") || is(words[0], "broken")) {
        pw_reply *reply;
        error = reply_of(atoi(words[1].data), bytes_of(words[2]), words + 3, count - 3, &reply);
        if (!error && is(words[0], "broken")) {
            stream *broken = new_stream(words + 2, 1);
            end_stream(broken, BROKEN);
            let_go(broken);
            error = pw_reply_set_source(reply, write_chunk, broken, let_go, -1);
        }
        if (!error)
            error = pw_answer_reply(found->answer, reply);
        /* A function whose reply is refused is at fault. */
        if (error) {
            pw_error *crashed = pw_answer_crash(found->answer, pw_error_message(error));
            pw_error_free(crashed);
        }
    } else if (is(words[0], "deferred")) {
        error = pw_answer_defer(found->answer);
    } else {
        error = pw_answer_crash(found->answer, count > 1 ? words[1].data : "no answer");
    }
    /* A client that went away is no fault. */
    pw_error_free(error);
    free_pending(found);
}

/* Listeners that are programs */

typedef struct {
    char *number;
    word *steps;
    size_t count;
} listener;

typedef struct {
    pw_event *event;
    word text;
    pw_request *request;
    stream *stream;
} run;

/* Requests that a listener keeps for ever, which ends with the application. */
static struct {
    pw_request *requests[64];
    size_t count;
} kept;

static void free_listener(void *listener_) {
    listener *listener = listener_;
    free(listener->number);
    free_words(listener->steps, listener->count);
    free(listener);
}

static void set_text(run *run, const char *text) {
    free(run->text.data);
    run->text = text_word(text);
}

/* Makes the error the text of the run, or the other text. An argument that cannot be in a reply is refused before it is sent. */
static void tried(run *run, pw_error *error, const char *otherwise) {
    if (!error) {
        set_text(run, otherwise);
        return;
    }
    const char *code = pw_error_code(error);
    set_text(run, "failed ");
    code = *code ? code : "invalid-reply";
    append(&run->text, code, strlen(code));
    pw_error_free(error);
}

static pw_bytes payload_of(const run *run, const char *content_type) {
    if (run->text.size == 0 && strcmp(content_type, JSON) == 0)
        return (pw_bytes){(const uint8_t *)"null", 4};
    return bytes_of(run->text);
}

static void call(run *run, const char *event, const char *content_type) {
    pw_caller *caller;
    pw_payload *payload;
    check(pw_event_caller(run->event, &caller));
    pw_error *error = pw_caller_call(caller, event, content_type, payload_of(run, content_type), 0, &payload, NULL,
                                     NULL);
    pw_caller_free(caller);
    if (error) {
        set_text(run, "failed ");
        append(&run->text, pw_error_code(error), strlen(pw_error_code(error)));
        append(&run->text, ": ", 2);
        append(&run->text, pw_error_message(error), strlen(pw_error_message(error)));
        pw_error_free(error);
        return;
    }
    free(run->text.data);
    run->text = copy_of(pw_payload_data(payload));
    pw_payload_free(payload);
}

static void emit(run *run, const char *event) {
    pw_caller *caller;
    check(pw_event_caller(run->event, &caller));
    check(pw_caller_emit(caller, event, JSON, payload_of(run, JSON)));
    pw_caller_free(caller);
    set_text(run, "");
}

static void send_text(run *run, word *arguments, size_t count) {
    pw_reply *reply;
    word *headers = calloc(count + 1, sizeof *headers);
    headers[0] = (word){"content-type", 12};
    headers[1] = (word){TEXT, strlen(TEXT)};
    memcpy(headers + 2, arguments + 1, (count - 1) * sizeof *headers);
    pw_error *error = reply_of(atoi(arguments[0].data), bytes_of(run->text), headers, count + 1, &reply);
    free(headers);
    if (!error)
        error = pw_request_send(run->request, reply);
    tried(run, error, "sent");
}

static void open_stream(run *run, word *arguments, size_t count) {
    pw_reply *reply;
    pw_error *error = pw_reply_new((uint16_t)atoi(arguments[0].data), &reply);
    if (!error) {
        stream *new = new_stream(arguments + 1, count - 1);
        check(pw_reply_add_header(reply, "content-type", TEXT));
        check(pw_reply_set_source(reply, write_chunk, new, let_go, -1));
        error = pw_request_send(run->request, reply);
        if (error)
            let_go(new);
        else
            run->stream = new;
    }
    if (error)
        tried(run, error, "");
}

static void take_step(run *run, const char *step, word *arguments, size_t count) {
    if (strcmp(step, "say") == 0) {
        append(&run->text, arguments[0].data, arguments[0].size);
    } else if (strcmp(step, "event-name") == 0) {
        pw_bytes name = pw_event_name(run->event);
        append(&run->text, name.data, name.size);
    } else if (strcmp(step, "payload-type") == 0) {
        pw_bytes type = pw_event_content_type(run->event);
        append(&run->text, type.data, type.size);
    } else if (strcmp(step, "request-id") == 0) {
        pw_bytes id = pw_event_request_id(run->event);
        append(&run->text, id.size ? (const char *)id.data : "(none)", id.size ? id.size : 6);
    } else if (strcmp(step, "param") == 0) {
        pw_bytes value = pw_request_param(run->request, arguments[0].data);
        append(&run->text, value.data ? (const char *)value.data : "(none)", value.data ? value.size : 6);
    } else if (strcmp(step, "path") == 0) {
        pw_bytes path = pw_request_path(run->request);
        append(&run->text, path.data, path.size);
    } else if (strcmp(step, "call") == 0) {
        call(run, arguments[0].data, arguments[1].data);
    } else if (strcmp(step, "emit") == 0) {
        emit(run, arguments[0].data);
    } else if (strcmp(step, "take") == 0) {
        run->request = pw_event_take_request(run->event);
        if (!run->request)
            set_text(run, "(none)");
    } else if (strcmp(step, "hand-over") == 0) {
        tried(run, pw_request_hand_over(run->request, arguments[0].data, JSON, payload_of(run, JSON)), "");
        pw_request_free(run->request);
        run->request = NULL;
    } else if (strcmp(step, "send") == 0) {
        send_text(run, arguments, count);
    } else if (strcmp(step, "throw") == 0) {
        tried(run, pw_request_fail(run->request, (uint16_t)atoi(arguments[0].data), NULL, run->text.data), "sent");
    } else if (strcmp(step, "stream") == 0) {
        open_stream(run, arguments, count);
    } else if (strcmp(step, "finish") == 0 && run->stream) {
        end_stream(run->stream, FINISHED);
    }
}

static void end_run(run *run, const char *end, word *arguments, pw_answer *answer) {
    pw_error *error;
    if (strcmp(end, "value") == 0 || strcmp(end, "result") == 0)
        error = pw_answer_payload(answer, arguments[0].data, payload_of(run, strcmp(end, "value") == 0 ? JSON : ""));
    else if (strcmp(end, "fail") == 0)
        error = pw_answer_fail(answer, (uint16_t)atoi(arguments[1].data), arguments[0].data, run->text.data);
    else if (strcmp(end, "trap") == 0)
        error = pw_answer_crash(answer, "a panic on purpose");
    else
        error = pw_answer_json(answer, "null");
    /* An error here means that the caller went away. */
    pw_error_free(error);
    if (strcmp(end, "keep") == 0 && run->request && kept.count < sizeof kept.requests / sizeof *kept.requests) {
        kept.requests[kept.count++] = run->request;
        run->request = NULL;
    }
}

static void on_event(void *listener_, pw_event *event, pw_answer *answer) {
    listener *listener = listener_;
    if (listener->count == 0) {
        word words[] = {text_word("event"), {0}, text_word(listener->number), copy_of(pw_event_name(event)),
                        copy_of(pw_event_content_type(event)), copy_of(pw_event_data(event))};
        ask_tests(answer, NULL, words, sizeof words / sizeof *words);
        return;
    }
    run run = {.event = event, .text = copy_of(pw_event_data(event))};
    for (size_t at = 0; at < listener->count;) {
        size_t count = strtoul(listener->steps[at + 1].data, NULL, 10);
        word *arguments = listener->steps + at + 2;
        const char *step = listener->steps[at].data;
        at += 2 + count;
        if (at < listener->count)
            take_step(&run, step, arguments, count);
        else
            end_run(&run, step, arguments, answer);
    }
    if (run.stream) {
        end_stream(run.stream, BROKEN);
        let_go(run.stream);
    }
    free(run.text.data);
    pw_request_free(run.request);
    pw_answer_free(answer);
}

static pw_error *listen_to(const pw_app *app, word *words, size_t count) {
    listener *new = calloc(1, sizeof *new);
    int waits = 0;
    new->number = strdup(words[2].data);
    new->count = count - 3;
    new->steps = calloc(count, sizeof *new->steps);
    for (size_t i = 3; i < count; i++)
        new->steps[i - 3] = word_of(words[i].data, words[i].size);
    for (size_t at = 0; at < new->count; at += 2 + strtoul(new->steps[at + 1].data, NULL, 10))
        waits |= is(new->steps[at], "call");
    return pw_app_listen(app, words[0].data, words[1].data, waits ? PW_RUNS_BLOCKING : PW_RUNS_INLINE, on_event, new,
                         free_listener);
}

/* Routes whose functions the tests are */

static void on_request(void *user, pw_request *request, pw_answer *answer) {
    (void)user;
    pw_body *body;
    pw_bytes data, query = pw_request_query(request);
    pw_header header;
    word target = copy_of(pw_request_path(request)), whole = text_word("");
    size_t count = 0;
    if (query.size > 0) {
        append(&target, "?", 1);
        append(&target, query.data, query.size);
    }
    check(pw_request_body(request, &body));
    while (pw_body_next(body, 0, &data, NULL, NULL) == PW_CHUNK_DATA)
        append(&whole, data.data, data.size);
    pw_body_free(body);
    while (pw_request_header_at(request, count, &header))
        count++;
    word *words = calloc(7 + 2 * count, sizeof *words);
    words[0] = text_word("request");
    words[2] = copy_of(pw_request_id(request));
    words[3] = copy_of(pw_request_method(request));
    words[4] = target;
    words[5] = copy_of(pw_request_remote_address(request));
    words[6] = whole;
    for (size_t i = 0; i < count; i++) {
        pw_request_header_at(request, i, &header);
        words[7 + 2 * i] = copy_of(header.name);
        words[8 + 2 * i] = copy_of(header.value);
    }
    ask_tests(answer, request, words, 7 + 2 * count);
    free(words);
}

/* The application of a case */

static pw_app *app;
static pw_server *server;
static pw_mount *mount;
static struct microhttpd_mount in_server;
static struct MHD_Daemon *mounted;

/* The server's own routes. */
static enum MHD_Result own_route(struct MHD_Connection *connection, const char *path) {
    int is_own = strcmp(path, "/own") == 0;
    const char *page = is_own ? "the server's own\n" : "not found\n";
    struct MHD_Response *response = MHD_create_response_from_buffer(strlen(page), (void *)page, MHD_RESPMEM_PERSISTENT);
    enum MHD_Result queued = MHD_queue_response(connection, is_own ? 200 : 404, response);
    MHD_destroy_response(response);
    return queued;
}

static pw_error *mount_it(word number, const char *place, const char *prefix) {
    char address[32];
    int is_below = strcmp(place, "below") == 0;
    pw_place of = is_below ? PW_PLACE_BELOW : strcmp(place, "in-front") == 0 ? PW_PLACE_IN_FRONT : PW_PLACE_EVERYTHING;
    pw_error *error = pw_app_mount(app, of, is_below ? prefix : NULL, &mount);
    if (error)
        return error;
    struct sockaddr_in local = {.sin_family = AF_INET};
    local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    in_server = (struct microhttpd_mount){mount, own_route};
    mounted = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL, NULL,
                               mount_answer, &in_server, MHD_OPTION_SOCK_ADDR, &local, MHD_OPTION_URI_LOG_CALLBACK,
                               mount_begin, NULL, MHD_OPTION_NOTIFY_COMPLETED, mount_complete, NULL, MHD_OPTION_END);
    if (!mounted)
        exit(1);
    snprintf(address, sizeof address, "127.0.0.1:%d", MHD_get_daemon_info(mounted, MHD_DAEMON_INFO_BIND_PORT)->port);
    SAY(text_word("done"), word_of(number.data, number.size), text_word(address));
    return NULL;
}

static pw_error *tell_status(word number) {
    char *routes, *modules, text[160];
    pw_figures figures;
    pw_error *error = pw_app_routes(app, &routes);
    if (error)
        return error;
    check(pw_app_modules(app, &modules));
    check(pw_app_figures(app, &figures));
    snprintf(text, sizeof text, "{\"routes\":%zu,\"requests-in-flight\":%zu,\"events-refused\":%llu}", figures.routes,
             figures.requests_in_flight, (unsigned long long)figures.events_refused);
    SAY(text_word("done"), word_of(number.data, number.size), text_word(routes), text_word(modules), text_word(text));
    pw_text_free(routes);
    pw_text_free(modules);
    return NULL;
}

static void called(void *number, pw_error *error, pw_payload *payload) {
    word *step = number;
    if (error) {
        stepped(number, error);
        return;
    }
    SAY(text_word("done"), *step, copy_of(pw_payload_content_type(payload)), copy_of(pw_payload_data(payload)));
    pw_payload_free(payload);
    free(step);
}

/* The next start frees the application: another thread may be telling its status. */
static void closed(void *number, pw_error *error) {
    pw_server_free(server);
    pw_mount_free(mount);
    server = NULL, mount = NULL;
    while (kept.count > 0)
        pw_request_free(kept.requests[--kept.count]);
    stepped(number, error);
}

/* libmicrohttpd waits for its connections, which may wait for answers that this program has still to read. */
static void *close_it(void *number) {
    if (mounted)
        MHD_stop_daemon(mounted);
    mounted = NULL;
    check(pw_app_close(app, 0, closed, number));
    return NULL;
}

static word *kept_number(word number) {
    word *copy = malloc(sizeof *copy);
    *copy = word_of(number.data, number.size);
    return copy;
}

/* Takes a step: it tells its end by itself, or by `stepped` with the error. */
static void take(const char *step, word number, word *words, size_t count) {
    pw_error *error = NULL;
    int told = 0;
    const char *options = count > 1 && words[1].size > 0 ? words[1].data : NULL;
    word *later = kept_number(number);
    if (strcmp(step, "start") == 0) {
        pw_app_free(app);
        error = pw_app_start(PW_ABI_VERSION, words[0].data, NULL, &app);
    } else if (strcmp(step, "load") == 0)
        error = pw_app_load(app, words[0].data, bytes_of(words[2]), options, stepped, later), told = !error;
    else if (strcmp(step, "swap") == 0)
        error = pw_app_swap(app, words[0].data, bytes_of(words[2]), options, stepped, later), told = !error;
    else if (strcmp(step, "roll-back") == 0)
        error = pw_app_roll_back(app, words[0].data, stepped, later), told = !error;
    else if (strcmp(step, "remove") == 0)
        error = pw_app_remove(app, words[0].data, stepped, later), told = !error;
    else if (strcmp(step, "prefix") == 0)
        error = pw_app_set_prefix(app, words[0].data);
    else if (strcmp(step, "hand-over") == 0)
        error = hand_over_pending(words);
    else if (strcmp(step, "listen") == 0)
        error = listen_to(app, words, count);
    else if (strcmp(step, "route") == 0)
        error = pw_app_route(app, words[0].size ? words[0].data : NULL, words[1].data, PW_BODY_WHOLE, PW_RUNS_BLOCKING,
                             on_request, NULL, NULL);
    else if (strcmp(step, "call") == 0) {
        pw_caller *caller;
        error = pw_app_caller(app, &caller);
        if (!error) {
            error = pw_caller_call(caller, words[0].data, words[1].data, bytes_of(words[2]), 0, NULL, called, later);
            pw_caller_free(caller);
            told = !error;
        }
    } else if (strcmp(step, "serve") == 0) {
        error = pw_app_serve(app, "127.0.0.1:0", &server);
        if (!error) {
            SAY(text_word("done"), *later, text_word(pw_server_address(server)));
            free(later);
            return;
        }
    } else if (strcmp(step, "mount") == 0 || strcmp(step, "status") == 0) {
        error = strcmp(step, "mount") == 0 ? mount_it(number, words[0].data, words[1].data) : tell_status(number);
        if (!error) {
            free(later->data), free(later);
            return;
        }
    } else if (strcmp(step, "close") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, close_it, later) != 0)
            exit(1);
        pthread_detach(thread);
        return;
    }
    if (!told)
        stepped(later, error);
}

static void on_log(void *user, pw_level level, const char *target, const char *message) {
    static const char *const levels[] = {"", "error", "warn", "info", "debug", "trace"};
    (void)user, (void)target;
    SAY(text_word("log"), text_word(levels[level]), text_word(message));
}

int main(void) {
    word *words;
    size_t count;
    check(pw_log(PW_LEVEL_INFO, on_log, NULL));
    while ((words = read_message(&count))) {
        if (is(words[0], "answer"))
            answer_pending(words[1], words + 2, count - 2);
        else
            take(words[0].data, words[1], words + 2, count - 2);
        free_words(words, count);
    }
    return 0;
}

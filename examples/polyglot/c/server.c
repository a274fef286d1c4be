/* The server: libmicrohttpd, with a thread for each connection. */
#define _GNU_SOURCE
#include "shop.h"
#include <netdb.h>
#include <pointwork_microhttpd.h>
#include <stdio.h>
#include <unistd.h>

static pw_mount *mount;
static struct microhttpd_mount mounted;
static struct MHD_Daemon *server;

/* The requests in flight, which the end of the server waits for. */
static int in_flight;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_idle = PTHREAD_COND_INITIALIZER;

/* The server's own routes, behind those of the application. */
static enum MHD_Result own_route(struct MHD_Connection *connection, const char *path) {
    char page[64] = "not found\n";
    int is_version = strcmp(path, "/version") == 0;
    if (is_version)
        snprintf(page, sizeof page, "libmicrohttpd %s\n", MHD_get_version());
    struct MHD_Response *response = MHD_create_response_from_buffer(strlen(page), page, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(response, "content-type", "text/plain; charset=utf-8");
    enum MHD_Result queued = MHD_queue_response(connection, is_version ? 200 : 404, response);
    MHD_destroy_response(response);
    return queued;
}

static void *begin(void *unused, const char *target, struct MHD_Connection *connection) {
    pthread_mutex_lock(&lock);
    in_flight++;
    pthread_mutex_unlock(&lock);
    return mount_begin(unused, target, connection);
}

static void complete(void *unused, struct MHD_Connection *connection, void **own, enum MHD_RequestTerminationCode code) {
    if (!*own)
        return;
    mount_complete(unused, connection, own, code);
    pthread_mutex_lock(&lock);
    if (--in_flight == 0)
        pthread_cond_signal(&is_idle);
    pthread_mutex_unlock(&lock);
}

/* A socket that listens at an address such as 127.0.0.1:8080 or [::1]:8080. */
static int listener(const char *address) {
    char *host = strdup(address), *port = strrchr(host, ':'), *name = host;
    struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    if (!port)
        fail("`%s`: expected an address and a port, such as 127.0.0.1:8080", address);
    *port++ = '\0';
    if (*name == '[')
        name++, name[strcspn(name, "]")] = '\0';
    int code = getaddrinfo(name, port, &hints, &found);
    if (code != 0)
        fail("cannot listen on `%s`: %s", address, gai_strerror(code));
    int on = 1, socket_ = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (socket_ < 0 || bind(socket_, found->ai_addr, found->ai_addrlen) != 0 || listen(socket_, 1024) != 0)
        fail("cannot listen on `%s`: %m", address);
    freeaddrinfo(found);
    free(host);
    return socket_;
}

void start_server(pw_app *app, const char *address) {
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    char host[NI_MAXHOST], port[NI_MAXSERV];
    int listening = listener(address);
    check(pw_app_mount(app, PW_PLACE_IN_FRONT, NULL, &mount));
    mounted = (struct microhttpd_mount){mount, own_route};
    server = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ITC, 0, NULL,
                              NULL, mount_answer, &mounted, MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_URI_LOG_CALLBACK, begin, NULL,
                              MHD_OPTION_NOTIFY_COMPLETED, complete, NULL, MHD_OPTION_CONNECTION_TIMEOUT, 60u,
                              MHD_OPTION_END);
    if (!server)
        fail("the server does not start");
    getsockname(listening, (struct sockaddr *)&bound, &size);
    getnameinfo((struct sockaddr *)&bound, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    printf(strchr(host, ':') ? "listening on http://[%s]:%s\n" : "listening on http://%s:%s\n", host, port);
}

void stop_server(void) {
    struct timespec until;
    /* Clients are refused from now on. The socket is closed behind the threads that may use it. */
    int listening = MHD_quiesce_daemon(server);
    shutdown(listening, SHUT_RDWR);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    pthread_mutex_lock(&lock);
    while (in_flight > 0 && pthread_cond_timedwait(&is_idle, &lock, &until) == 0)
        continue;
    pthread_mutex_unlock(&lock);
    MHD_stop_daemon(server);
    close(listening);
    pw_mount_free(mount);
}

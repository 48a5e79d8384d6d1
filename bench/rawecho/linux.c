/* The raw echo over a Unix socket. */
#define _GNU_SOURCE
#include "rawecho.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

struct stream {
    int fd;
};

static void (*run_session)(struct stream *);
static void (*run_work)(int);

static struct stream *wrap(int fd)
{
    struct stream *stream = malloc(sizeof *stream);
    if (fd < 0 || !stream)
        die("connection");
    stream->fd = fd;
    return stream;
}

static int open_socket(const char *address, struct sockaddr_un *name)
{
    memset(name, 0, sizeof *name);
    name->sun_family = AF_UNIX;
    strncpy(name->sun_path, address, sizeof name->sun_path - 1);
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void *session_thread(void *stream)
{
    run_session(stream);
    return NULL;
}

void serve(const char *address, void (*session)(struct stream *))
{
    struct sockaddr_un name;
    int listener = open_socket(address, &name);
    if (bind(listener, (struct sockaddr *)&name, sizeof name) || listen(listener, 64))
        die("listen");
    tell_that_it_serves();
    run_session = session;
    for (;;) {
        pthread_t thread;
        struct stream *stream = wrap(accept(listener, NULL, NULL));
        if (pthread_create(&thread, NULL, session_thread, stream) || pthread_detach(thread))
            die("thread");
    }
}

struct stream *dial(const char *address)
{
    struct sockaddr_un name;
    int fd = open_socket(address, &name);
    if (connect(fd, (struct sockaddr *)&name, sizeof name))
        die("connect");
    return wrap(fd);
}

int read_all(struct stream *stream, void *buffer, size_t length)
{
    char *at = buffer;
    while (length > 0) {
        ssize_t done = read(stream->fd, at, length);
        if (done <= 0)
            return -1;
        at += done;
        length -= done;
    }
    return 0;
}

int write_all(struct stream *stream, const void *buffer, size_t length)
{
    return send(stream->fd, buffer, length, MSG_NOSIGNAL) == (ssize_t)length ? 0 : -1;
}

void close_stream(struct stream *stream)
{
    close(stream->fd);
    free(stream);
}

static void *work_thread(void *number)
{
    run_work((int)(intptr_t)number);
    return NULL;
}

void run_threads(int count, void (*work)(int))
{
    pthread_t *threads = calloc(count, sizeof *threads);
    run_work = work;
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work_thread, (void *)(intptr_t)i))
            die("thread");
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void die(const char *what)
{
    perror(what);
    exit(1);
}

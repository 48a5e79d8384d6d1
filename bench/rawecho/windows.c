/*
 * The raw echo over a named pipe: overlapped handles on both ends, each operation waiting on an
 * event of its own, which is the fewest system calls that a pipe can be driven with.
 */
#include "rawecho.h"

#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#define BUFFER 65536

struct stream {
    HANDLE pipe;
    OVERLAPPED overlapped;
};

static void (*run_session)(struct stream *);
static void (*run_work)(int);

static struct stream *wrap(HANDLE pipe)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (pipe == INVALID_HANDLE_VALUE || !stream)
        die("pipe");
    stream->pipe = pipe;
    stream->overlapped.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL);
    return stream;
}

/* Answers how many bytes an operation moved, 0 when it failed. */
static DWORD finish(struct stream *stream, BOOL at_once, DWORD done)
{
    if (at_once)
        return done;
    if (GetLastError() != ERROR_IO_PENDING)
        return 0;
    return GetOverlappedResult(stream->pipe, &stream->overlapped, &done, TRUE) ? done : 0;
}

int read_all(struct stream *stream, void *buffer, size_t length)
{
    char *at = buffer;
    while (length > 0) {
        DWORD done = 0;
        BOOL at_once = ReadFile(stream->pipe, at, (DWORD)length, &done, &stream->overlapped);
        done = finish(stream, at_once, done);
        if (done == 0)
            return -1;
        at += done;
        length -= done;
    }
    return 0;
}

int write_all(struct stream *stream, const void *buffer, size_t length)
{
    DWORD done = 0;
    BOOL at_once = WriteFile(stream->pipe, buffer, (DWORD)length, &done, &stream->overlapped);
    return finish(stream, at_once, done) == length ? 0 : -1;
}

static struct stream *create_instance(const char *address)
{
    return wrap(CreateNamedPipeA(address, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED,
                                 PIPE_TYPE_BYTE | PIPE_REJECT_REMOTE_CLIENTS,
                                 PIPE_UNLIMITED_INSTANCES, BUFFER, BUFFER, 0, NULL));
}

static void wait_for_client(struct stream *stream)
{
    DWORD none = 0;
    if (ConnectNamedPipe(stream->pipe, &stream->overlapped))
        return;
    if (GetLastError() == ERROR_IO_PENDING)
        GetOverlappedResult(stream->pipe, &stream->overlapped, &none, TRUE);
}

static DWORD WINAPI session_thread(void *stream)
{
    run_session(stream);
    return 0;
}

void serve(const char *address, void (*session)(struct stream *))
{
    struct stream *stream = create_instance(address);
    tell_that_it_serves();
    run_session = session;
    for (;;) {
        wait_for_client(stream);
        CloseHandle(CreateThread(NULL, 0, session_thread, stream, 0, NULL));
        stream = create_instance(address);
    }
}

struct stream *dial(const char *address)
{
    for (int tries = 0; tries < 10000; tries++) {
        HANDLE pipe = CreateFileA(address, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
                                  FILE_FLAG_OVERLAPPED, NULL);
        if (pipe != INVALID_HANDLE_VALUE)
            return wrap(pipe);
        Sleep(1);
    }
    die("connect");
    return NULL;
}

void close_stream(struct stream *stream)
{
    CloseHandle(stream->pipe);
    CloseHandle(stream->overlapped.hEvent);
    free(stream);
}

static DWORD WINAPI work_thread(void *number)
{
    run_work((int)(INT_PTR)number);
    return 0;
}

void run_threads(int count, void (*work)(int))
{
    HANDLE *threads = calloc(count, sizeof *threads);
    run_work = work;
    for (int i = 0; i < count; i++)
        threads[i] = CreateThread(NULL, 0, work_thread, (void *)(INT_PTR)i, 0, NULL);
    for (int i = 0; i < count; i++)
        WaitForSingleObject(threads[i], INFINITE);
    free(threads);
}

uint64_t now_ns(void)
{
    LARGE_INTEGER count, frequency;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    return (uint64_t)((double)count.QuadPart * 1e9 / frequency.QuadPart);
}

void die(const char *what)
{
    fprintf(stderr, "%s: error %lu\n", what, GetLastError());
    exit(1);
}

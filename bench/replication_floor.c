// What a gigabyte costs that one process sends with sendfile and another receives, checks with CRC-32C and writes to four
// files: the least that replication can cost on this machine, with the same system calls and nothing else.
//
//     cc -O2 -msse4.2 replication_floor.c && ./a.out FOLDER BYTES
//
// Prints the CPU seconds per GB of both, as JSON.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <nmmintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PART = 1 << 20, FILES = 4 };

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static long check(long result, const char *what) {
    if (result < 0)
        fail(what);
    return result;
}

static double cpu_seconds(int who) {
    struct rusage used;
    check(getrusage(who, &used), "getrusage");
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

// A file without a name, which is gone when the program ends.
static int file(const char *folder) {
    return check(open(folder, O_RDWR | O_TMPFILE, 0600), folder);
}

static int make_source(const char *folder, long bytes) {
    char *part = malloc(PART);
    for (int at = 0; at < PART; at++)
        part[at] = at * 2654435761u >> 13;
    int fd = file(folder);
    for (long at = 0; at < bytes; at += PART)
        check(pwrite(fd, part, PART, at), "pwrite");
    check(fsync(fd), "fsync");
    free(part);
    return fd;
}

static void send_all(int fd, int port, long bytes) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int peer = check(socket(AF_INET, SOCK_STREAM, 0), "socket");
    check(connect(peer, (struct sockaddr *)&to, sizeof to), "connect");
    off_t at = 0;
    while (at < bytes)
        check(sendfile(peer, fd, &at, bytes - at < PART ? bytes - at : PART), "sendfile");
}

static void receive_all(const char *folder, int peer, long bytes) {
    char *part = malloc(PART);
    int files[FILES];
    off_t ends[FILES] = {0};
    for (int at = 0; at < FILES; at++)
        files[at] = file(folder);
    uint64_t sum = 0;
    for (long done = 0, turn = 0; done < bytes; done += PART, turn++) {
        for (long have = 0; have < PART;) {
            long got = check(recv(peer, part + have, PART - have, 0), "recv");
            if (got == 0)
                fail("closed");
            have += got;
        }
        uint64_t crc = ~0u, word;
        for (int at = 0; at < PART; at += sizeof word) {
            memcpy(&word, part + at, sizeof word);
            crc = _mm_crc32_u64(crc, word);
        }
        sum += crc;
        check(pwrite(files[turn % FILES], part, PART, ends[turn % FILES]), "pwrite");
        ends[turn % FILES] += PART;
    }
    // So that it is computed.
    if (sum == 1)
        printf("\n");
}

int main(int count, char **args) {
    if (count != 3 || atol(args[2]) <= 0 || atol(args[2]) % PART != 0) {
        fprintf(stderr, "usage: %s FOLDER BYTES, a multiple of %d\n", args[0], PART);
        return 2;
    }
    long bytes = atol(args[2]);
    int source = make_source(args[1], bytes);
    int listener = check(socket(AF_INET, SOCK_STREAM, 0), "socket");
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    check(bind(listener, (struct sockaddr *)&at, len), "bind");
    check(listen(listener, 1), "listen");
    check(getsockname(listener, (struct sockaddr *)&at, &len), "getsockname");
    int child = check(fork(), "fork");
    if (child == 0) {
        send_all(source, at.sin_port, bytes);
        return 0;
    }
    int peer = check(accept(listener, NULL, NULL), "accept"), status;
    double before = cpu_seconds(RUSAGE_SELF);
    receive_all(args[1], peer, bytes);
    double receiver = cpu_seconds(RUSAGE_SELF) - before;
    check(waitpid(child, &status, 0), "waitpid");
    if (status != 0)
        return 1;
    double gb = bytes / 1e9;
    printf("{\"sender_cpu_per_gb\": %.3f, \"receiver_cpu_per_gb\": %.3f}\n", cpu_seconds(RUSAGE_CHILDREN) / gb, receiver / gb);
    return 0;
}

/* The least that a server of heartbeats could do: one thread, epoll, a recv and a send for each frame. It
 * answers whatever comes with the same 18 bytes, and is not for anything else. Argument: the port. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 1024, FRAME_MAX = 4096, ANSWER = 18 };

int main(int argc, char **argv) {
    int port = argc == 2 ? atoi(argv[1]) : 0;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    int poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    if (port <= 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0
        || listen(listener, 1024) != 0 || epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event) != 0) {
        perror("heartbeat_floor PORT");
        return 2;
    }
    static struct epoll_event events[EVENTS];
    char frame[FRAME_MAX], answer[ANSWER];
    memset(answer, 7, sizeof answer);
    for (;;) {
        int count = epoll_wait(poll, events, EVENTS, -1);
        for (int at = 0; at < count; at++) {
            int from = events[at].data.fd;
            if (from == listener) {
                int client;
                while ((client = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                    event.data.fd = client;
                    epoll_ctl(poll, EPOLL_CTL_ADD, client, &event);
                }
                continue;
            }
            ssize_t got = recv(from, frame, sizeof frame, 0);
            if (got <= 0 || send(from, answer, sizeof answer, MSG_NOSIGNAL) != ANSWER)
                close(from);
        }
    }
}

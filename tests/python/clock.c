/* A wall clock that a test moves: loaded before libc, it adds the nanoseconds that stand in the file
   CLOCK_OFFSET_FILE, at any moment, to what the system says. Clocks that only count on are left alone. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("CLOCK_OFFSET_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *at = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    /* A test that believed the clock to be moved would prove nothing. */
    if (at == MAP_FAILED)
        abort();
    close(file);
    offset = at;
}

int clock_gettime(clockid_t id, struct timespec *out) {
    long result = syscall(SYS_clock_gettime, id, out);
    if (result == 0 && offset && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        int64_t all = (int64_t)out->tv_sec * 1000000000 + out->tv_nsec + *offset;
        out->tv_sec = all / 1000000000;
        out->tv_nsec = all % 1000000000;
    }
    return (int)result;
}

int gettimeofday(struct timeval *out, void *zone) {
    struct timespec now;
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    if (result == 0) {
        out->tv_sec = now.tv_sec;
        out->tv_usec = now.tv_nsec / 1000;
    }
    return result;
}

time_t time(time_t *out) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}

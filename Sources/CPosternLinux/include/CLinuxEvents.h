// epoll(7), eventfd(2) and accept4(2), whose structures and flags the Swift overlay of the C library lacks.
#ifndef POSTERN_CLINUX_EVENTS_H
#define POSTERN_CLINUX_EVENTS_H

#include <stdint.h>

// The readiness of a watched descriptor.
enum {
  CLINUX_READABLE = 1 << 0,
  CLINUX_WRITABLE = 1 << 1,
  // Both directions of a connection are over, or it has failed. Always reported.
  CLINUX_HUNG_UP = 1 << 2,
  // The peer sends no more; bytes that it has sent may be unread.
  CLINUX_PEER_ENDED = 1 << 3,
};

struct clinux_event {
  uint64_t token;
  uint32_t readiness;
};

enum clinux_change { CLINUX_WATCH, CLINUX_REWATCH, CLINUX_UNWATCH };

// An epoll descriptor (close-on-exec), or -errno.
int clinux_events_open(void);

// Watches `fd` for `readiness` (CLINUX_READABLE, CLINUX_WRITABLE, CLINUX_PEER_ENDED), level-triggered; its events have
// `token`. Returns 0, or errno.
int clinux_events_change(int events, enum clinux_change change, int fd, uint32_t readiness, uint64_t token);

// Waits for at most `milliseconds` (-1: without a bound) and writes up to `capacity` events (64 at most). Returns their
// number, 0 also when a signal came, or -errno.
int clinux_events_wait(int events, struct clinux_event *ready, int capacity, int milliseconds);

// A non-blocking eventfd (close-on-exec) for wake-ups, or -errno.
int clinux_wakeup_open(void);

// Makes it readable. Never blocks.
void clinux_wakeup_signal(int fd);

// Makes it unreadable.
void clinux_wakeup_clear(int fd);

// Accepts a connection of the listening socket `fd`: non-blocking, close-on-exec. Returns its descriptor, or -errno.
int clinux_accept(int fd);

#endif

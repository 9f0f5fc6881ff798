#define _GNU_SOURCE
#include "include/CLinuxEvents.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_EVENTS = 64 };

int clinux_events_open(void) {
  int events = epoll_create1(EPOLL_CLOEXEC);
  return events < 0 ? -errno : events;
}

int clinux_events_change(int events, enum clinux_change change, int fd, uint32_t readiness, uint64_t token) {
  struct epoll_event event = {.data.u64 = token};
  if (readiness & CLINUX_READABLE) event.events |= EPOLLIN;
  if (readiness & CLINUX_WRITABLE) event.events |= EPOLLOUT;
  if (readiness & CLINUX_PEER_ENDED) event.events |= EPOLLRDHUP;
  int operation = change == CLINUX_WATCH ? EPOLL_CTL_ADD : change == CLINUX_REWATCH ? EPOLL_CTL_MOD : EPOLL_CTL_DEL;
  return epoll_ctl(events, operation, fd, &event) == 0 ? 0 : errno;
}

int clinux_events_wait(int events, struct clinux_event *ready, int capacity, int milliseconds) {
  struct epoll_event found[MAX_EVENTS];
  int count = epoll_wait(events, found, capacity < MAX_EVENTS ? capacity : MAX_EVENTS, milliseconds);
  if (count < 0) return errno == EINTR ? 0 : -errno;
  for (int i = 0; i < count; i++) {
    uint32_t readiness = 0;
    if (found[i].events & EPOLLIN) readiness |= CLINUX_READABLE;
    if (found[i].events & EPOLLOUT) readiness |= CLINUX_WRITABLE;
    if (found[i].events & EPOLLRDHUP) readiness |= CLINUX_PEER_ENDED;
    if (found[i].events & (EPOLLHUP | EPOLLERR)) readiness |= CLINUX_HUNG_UP;
    ready[i] = (struct clinux_event){.token = found[i].data.u64, .readiness = readiness};
  }
  return count;
}

int clinux_wakeup_open(void) {
  int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return fd < 0 ? -errno : fd;
}

void clinux_wakeup_signal(int fd) {
  uint64_t one = 1;
  // It fails only when the counter is full, and then the descriptor is readable.
  while (write(fd, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void clinux_wakeup_clear(int fd) {
  uint64_t count;
  while (read(fd, &count, sizeof count) < 0 && errno == EINTR) {
  }
}

int clinux_accept(int fd) {
  int connection = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  return connection < 0 ? -errno : connection;
}

#define _GNU_SOURCE
#include "CLinuxDescriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// Younger than the headers of Debian 12.
#ifndef SCM_PIDFD
#define SCM_PIDFD 4
#endif

ssize_t clinux_receive(int fd, void *buffer, size_t size, int *descriptors, int *count, int *lost) {
  union {
    // With space for what the owner of a passed socket may have switched on: credentials, a label, a pidfd.
    char bytes[CMSG_SPACE(CLINUX_MAX_DESCRIPTORS * sizeof(int)) + 1024];
    struct cmsghdr align;
  } control;
  struct iovec piece = {.iov_base = buffer, .iov_len = size};
  struct msghdr message = {
      .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  *count = 0;
  *lost = 0;
  ssize_t length;
  do length = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (length < 0 && errno == EINTR);
  if (length < 0) return -errno;
  *lost = (message.msg_flags & MSG_CTRUNC) != 0;
  if (message.msg_controllen == 0) return length;
  for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part != NULL; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    if (part->cmsg_type == SCM_PIDFD) {
      int process;
      memcpy(&process, CMSG_DATA(part), sizeof process);
      if (process >= 0) close(process);
    }
    if (part->cmsg_type != SCM_RIGHTS) continue;
    int number = (int)((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    for (int i = 0; i < number && *count < CLINUX_MAX_DESCRIPTORS; i++, ++*count)
      memcpy(&descriptors[*count], CMSG_DATA(part) + (size_t)i * sizeof(int), sizeof(int));
  }
  return length;
}

ssize_t clinux_send(int fd, const void *bytes, size_t size, const int *descriptors, int count) {
  union {
    char bytes[CMSG_SPACE(CLINUX_MAX_DESCRIPTORS * sizeof(int))];
    struct cmsghdr align;
  } control;
  if (count < 1 || count > CLINUX_MAX_DESCRIPTORS) return -EINVAL;
  size_t length = (size_t)count * sizeof(int);
  struct iovec piece = {.iov_base = (void *)bytes, .iov_len = size};
  struct msghdr message = {
      .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = CMSG_SPACE(length)};
  memset(control.bytes, 0, CMSG_SPACE(length));
  struct cmsghdr *part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(length);
  memcpy(CMSG_DATA(part), descriptors, length);
  ssize_t sent;
  do sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent < 0 ? -errno : sent;
}

static int is_connected_stream(int fd) {
  int type = 0, listens = 0;
  socklen_t length = sizeof type;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM) return 0;
  length = sizeof listens;
  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || listens) return 0;
  struct sockaddr_storage peer;
  length = sizeof peer;
  return getpeername(fd, (struct sockaddr *)&peer, &length) == 0;
}

enum clinux_kind clinux_kind(int fd) {
  struct statx found;
  if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &found) != 0) return CLINUX_OTHER;
  switch (found.stx_mode & S_IFMT) {
    case S_IFIFO: return CLINUX_PIPE;
    case S_IFSOCK: return is_connected_stream(fd) ? CLINUX_SOCKET : CLINUX_OTHER;
    // Only files in memory have seals.
    case S_IFREG: return fcntl(fd, F_GET_SEALS) >= 0 ? CLINUX_MEMORY_FILE : CLINUX_FILE;
    case S_IFCHR: return CLINUX_DEVICE;
    default: return CLINUX_OTHER;
  }
}

int clinux_is_readable(int fd) {
  int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_PATH) == 0 && (flags & O_ACCMODE) != O_WRONLY;
}

int clinux_is_writable(int fd) {
  int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_PATH) == 0 && (flags & O_ACCMODE) != O_RDONLY;
}

int clinux_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0 ? errno : 0; }

ssize_t clinux_move(int from, int to, size_t size) {
  ssize_t moved;
  do moved = splice(from, NULL, to, NULL, size, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
  while (moved < 0 && errno == EINTR);
  return moved < 0 ? -errno : moved;
}

ssize_t clinux_socket_write(int fd, const void *bytes, size_t size) {
  ssize_t written;
  do written = send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (written < 0 && errno == EINTR);
  return written < 0 ? -errno : written;
}

int clinux_wait(int fd, int writing, int wakeup) {
  struct pollfd both[2] = {{.fd = fd, .events = writing ? POLLOUT : POLLIN}, {.fd = wakeup, .events = POLLIN}};
  while (poll(both, 2, -1) < 0 && errno == EINTR) {
  }
  return both[1].revents == 0;
}

int clinux_is_unread_by_peer(int fd) {
  int count = 0;
  return ioctl(fd, SIOCOUTQ, &count) == 0 && count > 0;
}

int clinux_has_unread(int fd) {
  int count = 0;
  return ioctl(fd, FIONREAD, &count) != 0 || count > 0;
}

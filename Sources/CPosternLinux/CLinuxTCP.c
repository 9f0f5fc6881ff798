#include "CLinux.h"

#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int clinux_tcp_sent(int fd, uint64_t *acknowledged, uint64_t *outstanding) {
  struct tcp_info info = {0};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return errno;
  // An older kernel fills less of the structure; a system that imitates Linux may leave it empty.
  if (size < offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked) return ENODATA;
  if (info.tcpi_bytes_acked == 0) return ENODATA;
  int queued = 0;
  if (ioctl(fd, SIOCOUTQ, &queued) != 0) return errno;
  *acknowledged = info.tcpi_bytes_acked;
  *outstanding = queued < 0 ? 0 : (uint64_t)queued;
  return 0;
}
